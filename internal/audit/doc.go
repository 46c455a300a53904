// Package audit keeps the record of calls. guard hands it every call before a
// backend hears of it and again at its end; admin and the CLI show and verify
// what it kept.
//
// A Journal is a folder of segments: text files of one record a line, each the
// hash of the chain so far and a JSON object. The hash of a record covers the
// hash before it and the record's own bytes, so an edit, a deletion or a
// reordering shows at the record where it happened. What a chain cannot show by
// itself, a cut tail, shows against the head: number and hash of a late record,
// signed and kept in another folder. Old segments are removed behind a signed
// checkpoint, and the chain goes on from it.
//
// A record reaches the page cache before Append returns and so survives the
// death of the process; in strict mode it reaches the disk. Records go on to
// SQL, as text, through a Shipper, and no call waits for that.
//
// The signing key lies on the same machine. Whoever can read it and write both
// folders can make another chain; a head that was kept elsewhere (an export),
// or the copy in SQL, convicts them.
package audit
