// Package history keeps what was said in calls, for people who look at it
// later: parameters and results, redacted and cut, beside who called what, how
// it ended and how long it took; and sums per day, tool and agent that outlive
// the calls. guard hands it every call at its end, admin and the CLI read it.
// It stands on the ground: app gives it a database that a driver of package
// store has opened (a file of its own on SQLite, tables of their own on
// PostgreSQL), with the schema that lies beside the driver.
//
// It is not the record of calls: that is the journal of package audit, which
// no call escapes. Record never waits. When the writer cannot keep up, or the
// database is away for long, calls are dropped and counted; their sums are
// still kept.
//
// What leaves Record's hands for the database has passed the redactor: by the
// names of members, by what values look like, by what schemas say, and
// wherever a value found so appears again. Cutting comes after redaction, and
// what is stored is always whole JSON.
package history
