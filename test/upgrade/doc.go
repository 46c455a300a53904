// Package upgrade replaces the replicas of a cluster, one after another and under
// load, by a version whose schema is one migration further.
package upgrade
