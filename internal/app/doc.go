// Package app turns a checked config.Config into a running instance. It is the
// only place that joins concrete types: the store's driver, the ground, the
// backends, guard, and the doors of gateway and admin. cli starts it; nothing
// else knows all the parts.
package app
