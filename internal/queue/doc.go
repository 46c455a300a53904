// Package queue keeps jobs in the SQL database until they are done: work that
// must happen at least once, in order where it has one, whatever is killed. It
// stands between what makes work (event, by way of worker.Place) and worker,
// which does it. app gives it the store's database; the tables are made by the
// store's migrations.
//
// A job is leased to one process at a time, under a number that grows with each
// lease: what a process says about a job counts only under the newest number, so
// one that was away for too long changes nothing. A lease that is not extended
// runs out, and the job is leased again.
//
// Jobs with the same order key form a line: of each line one job at most moves
// (is ready, leased or held), and it is the oldest. A lane is what shares fate,
// as an endpoint does: it can be closed for a while, and takes no more leases
// than its caller has room for.
//
// Writes are grouped: those that come while a commit is under way share the
// next one, which is on disk before any of them is told so.
package queue
