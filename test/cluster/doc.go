// Package cluster holds three replicas behind a balancer to what is promised of
// one: while one after the other is killed under load, while what they stand on
// goes away and comes back.
package cluster
