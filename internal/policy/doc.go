// Package policy evaluates the rules of operators: whether a call may be made,
// whether its result may be passed on and in which form, and which tools no call
// of a principal can use, so that lists leave them out. A rule has a target, a
// condition in CEL, and a verdict; package junctor has the types.
//
// The package knows neither rows nor connections: internal/policies stores the
// rules and compiles them into a Set for each tenant, and internal/guard asks
// that Set about every call. This is the only package that imports CEL.
//
// Three promises hold whatever the rules are:
//
//   - A rule that cannot be evaluated never opens anything: one that denies or
//     asks denies, and one that allows does not match.
//   - A list hides a tool only if every call of it would be denied.
//   - No rule can take more than a bounded time, and none stops the others.
//
// To read the code, begin with set.go (the judge), then rule.go (one compiled
// rule) and target.go. env.go has the variables, functions.go the functions;
// json_value.go reads arguments without decoding them, guided by schema.go, which
// turns JSON Schema into types; check.go finds mistakes when a rule is saved, with
// presence.go for members that may be absent; explain.go says why.
package policy
