// Package replicas holds what is promised of several processes that share one
// PostgreSQL: each serves everybody, and what is changed at one holds at all.
package replicas
