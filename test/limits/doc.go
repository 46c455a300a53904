// Package limits has replicas that share a Redis hold callers to one limit
// together, and each to its own while that Redis is away.
package limits
