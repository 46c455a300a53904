// Package guard is the one pipeline that every call passes, whichever door it
// came through: resolve the name, may they see it, may they call it, how often,
// are the arguments right, record the attempt, run it, shape the answer, record
// the end, count.
//
// Doors (gateway, admin) hand it an Op with the principal that identity named;
// it resolves names in catalog and runs them on the backend that catalog gives.
// Nothing else calls a backend. What it needs of the ground (limits, journal,
// sealing, counters) it declares here as small interfaces that app fills.
package guard
