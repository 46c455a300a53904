// Package policies keeps the rules about calls: it stores them, checks them against the
// tools that they are about, compiles them for each tenant, and makes sure that no replica
// decides by rules that somebody has replaced. Package policy evaluates rules, and guard
// asks it about every call.
//
// The rules of a tenant are one setting, a list whose order is that of evaluation, so that
// a change is one transaction. Rules of operators for several tenants are in the list of
// the tenant default.
//
// A change is answered when every replica judges by it. Each replica that can be reached
// confirms that it has read the change. One that cannot be reached stops to rely on what
// it has read once it has had no answer of the database for [Lease], and the change waits
// for that long.
//
// Read policies.go (what is in memory), document.go (what is stored), change.go (changes
// by callers), kind.go (changes by files), check.go (what is wrong with rules), call.go
// (recorded and made-up calls as rules see them), then simulate.go, explain.go, cases.go
// and templates.go.
package policies
