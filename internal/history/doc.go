// Package history keeps the payloads of calls, so that people can look at them
// later: parameters and results, redacted and cut, with the caller, the outcome
// and the timing of each call. It also keeps sums per day, tool and agent, which
// outlive the calls.
//
// The pipeline in internal/guard records every call at its end. internal/admin
// and internal/cli read the history. internal/app opens the database with a
// driver of internal/store: a separate file for SQLite, separate tables for
// PostgreSQL. The schema is beside the driver.
//
// The history is not the record of calls. That is the journal of internal/audit,
// which no call escapes. Record never waits. If the writer cannot keep up, or the
// database is unavailable for long, calls are dropped and counted. Their sums are
// still kept.
//
// Every payload passes the redactor before it reaches the database. The redactor
// finds secrets by the names of members, by the form of values and by the tool's
// schemas. It then removes a secret wherever else it appears in the call. A
// payload is cut after it was redacted, and the stored text is always valid JSON.
//
// To read the code, begin with history.go (the type, Record, Close), writer.go
// (the goroutine that writes) and batch.go (one transaction). Then:
//
//   - redact.go: the redactor of one call; json_redactor.go walks through JSON, with json_container.go, json_hide.go and json_lex.go.
//   - mask_words.go applies to commands what internal/redact takes for a secret.
//   - json_rows.go: how rows reach the database.
//   - query.go, export.go, usage.go and prune.go: what readers call; scan.go: how a page is found in steps; search_limit.go: how many searches run; search.go: text in every case.
package history
