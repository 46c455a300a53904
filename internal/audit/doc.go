// Package audit keeps the journal: a durable, tamper-evident record of every
// call.
//
// The pipeline in internal/guard appends a record before a backend receives a
// call, and another when the call ends. internal/admin and internal/cli list,
// export and verify the records. internal/app joins the packages; there the
// journal gets a Shipper, Pruner and Witness that writes to internal/store.
// internal/backup copies the folders.
//
// A Journal is a folder of segments: text files of one record per line. Each line
// holds the hash of the chain so far and a JSON object. The hash of a record
// covers the hash before it and the record's own bytes. So an edit, a deletion or
// a reordering shows at the record where it happened. A chain cannot show by
// itself that its tail was cut. That shows against the head: the number and hash
// of a late record, signed and kept in another folder. Old segments are removed
// behind a signed checkpoint, and the chain continues from it.
//
// A record reaches the page cache before Append returns, so it survives the death
// of the process. In strict mode it also reaches the disk. A Shipper copies the
// records to SQL as text, and no call waits for the copy.
//
// The signing key is on the same machine. An attacker who can read it and write
// both folders can forge another chain. A head that was kept elsewhere (in an
// export), or the copy in SQL, exposes such a forgery.
//
// Locks are taken in this order: Journal.compareMu, Journal.headMu, then the
// flush gate, then Journal.mu. Journal.mu is never held during a sync.
//
// To read the code, begin with journal.go (the type, Open, Append, Close) and
// record.go (how a record is encoded). Then:
//
//   - write_queue.go, write.go and sync.go: how records reach the file and the disk.
//   - line.go, record_scan.go and segment.go: how records are read back.
//   - chain.go, head.go and verify.go: what makes a chain valid; verify_records.go does the same for a copy.
//   - recover.go and maintain.go: what happens at the start and in the background.
//   - ship.go and witness.go: the copy, and the comparison with it.
//   - recent.go, call_reader.go and tail.go: the newest calls, as principals may see and follow them.
package audit
