// Package events holds that no event is lost: a whole instance takes events by
// signed messages and from a Redis, and is killed while it does.
package events
