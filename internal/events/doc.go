// Package events holds the use cases of events and deliveries: who may send, list and
// change them, and what a delivery to the endpoint of an agent needs.
//
// [Service] makes the intake (package intake), which stores events together with the
// deliveries that triggers (package event) make of them, and the worker (package
// worker), which carries deliveries out through the pipeline. [EventAPI] and
// [DeliveryAPI] serve the admin API: they check the caller and leave out fields that
// the caller may not read. [Service.Kinds] gives package declare the sources, triggers
// and schedules that a settings file or a caller describes. Package app makes the
// Service and connects it to packages servers and chains.
//
// Read service.go first (the parts and their connections), then event_api.go and
// restrict.go (the admin API), delivery_api.go and endpoints.go (the endpoints of agents
// and their tokens), kinds.go and row_kind.go (declared events), and queue_gauges.go.
package events
