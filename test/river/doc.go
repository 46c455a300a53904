// Package river holds the queue against another one: how many jobs that do
// nothing go through a second, on the same PostgreSQL and with the same promise
// that what was committed is on disk. It is a module of its own, since nothing
// else needs that library; make prove runs it.
package river
