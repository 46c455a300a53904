// Package operate holds what those who look after several replicas rely on: that
// doctor sees all of them, that their journals verify together, and what replicas
// cost.
package operate
