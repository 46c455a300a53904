// Package worker delivers events. It takes the orders that triggers place
// (Place) from the queue and calls their tools through the same pipeline as
// every other call. It repeats a call until it succeeds, fails for good or runs
// out of attempts.
//
// Package queue stores the orders, with leases and order keys; guard runs the
// calls; app provides the backends of agents' own endpoints, which this package
// does not know. admin shows and changes deliveries.
//
// Every endpoint is a lane with its own number of concurrent attempts, so an
// endpoint that hangs delays no other. A breaker pauses an endpoint that fails;
// its deliveries wait meanwhile and do not lose attempts.
//
// Read the files in this order: order.go, worker.go (the loop), attempt.go (one
// attempt), outcome.go (errors), lane.go (breakers), delivery.go (what users
// see), verification.go (files).
package worker
