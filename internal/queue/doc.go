// Package queue keeps jobs in the SQL database until they are done. A job is work
// that must happen at least once, and in order if it has an order key, even if
// replicas are killed.
//
// internal/worker adds jobs for events (worker.Place) and runs them;
// internal/erc8004 has a queue for its own work. internal/admin lists and changes
// jobs. internal/app passes in the store's database, and the migrations of
// internal/store create the tables.
//
// A job is leased to one replica at a time, under a fencing token that grows with
// each lease. A replica can settle a job only under the newest token, so a
// replica that was paused for too long changes nothing. If a lease is not
// extended, it expires and the job is leased again.
//
// Jobs with the same order key form a line. At most one job of a line is ready,
// leased or held, and it is the oldest. A lane groups jobs that fail together,
// such as all deliveries to one endpoint. A lane can be closed for a while, and
// never has more leases than its caller has room for.
//
// Writes share commits: all writes that arrive during a commit share the next
// one. A write returns only after its commit is on disk.
//
// To read the code, begin with job.go (the types), queue.go and transaction.go
// (how writes share a commit). Then follow a job: enqueue.go, claim.go with
// lease_claim.go (leases and their expiry), settle.go with attempt.go (the end of
// an attempt). lane.go, change.go and list.go are for operators.
package queue
