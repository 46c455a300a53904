// Package deliveries holds what agents and operators rely on once an event was
// taken: that an agent on the official SDK hears of it and what it answers is
// recorded, that processes on one PostgreSQL share the work without doing any of
// it twice at once, and that an endpoint that never answers delays no other.
package deliveries
