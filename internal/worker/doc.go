// Package worker delivers events: it takes the orders that triggers hand over
// (Place) from queue and makes calls of them, through the same pipeline as every
// other call, again and again until one succeeds or there is no hope. guard runs
// the calls; app gives the backends of agents' own endpoints, which this package
// does not know.
//
// Every endpoint is a lane with places of its own, so one that hangs takes no
// place of another. One that fails is left alone for a while, and its deliveries
// are held meanwhile, not failed.
package worker
