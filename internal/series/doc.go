// Package series keeps the numbers of calls over time: how many there were, how they ended,
// how long they took, how many bytes they moved, and how many tokens the definitions in tool
// lists use, per minute, hour and day, for each server, tool, agent, user, caller and entry
// point.
//
// The numbers come from the journal, so they are exactly those of its records. A Recorder
// follows the journal of its replica in the background, adds the calls up, and stores the
// sums together with the number of the last record in one transaction. After a crash it
// continues behind that record: no call is counted twice, and none is left out. Replicas add
// to the same rows. No call waits for any of this.
//
// internal/app starts a Recorder. internal/admin and internal/cli query the numbers.
//
// Read series.go (what is counted), recorder.go (the goroutine), store.go (the rows),
// query.go (what readers ask) and usage.go (sums of whole days).
package series
