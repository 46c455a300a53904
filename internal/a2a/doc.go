// Package a2a is where agents of other parties meet ours: the doors of the
// Agent2Agent protocol, versions 1.0 and 0.3, for each agent that is published.
//
// A request comes by the front, which reads it strictly and names who asks; the
// library's transports, which know the two wires, hand it to the desk; the desk
// keeps tasks in the store and lets agents work on them by package agent, whose
// calls go through guard as all do. app joins the parts.
package a2a
