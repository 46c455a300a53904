// Package a2ui implements A2UI, the interface with which agents answer beside text:
// surfaces, made of components and of the data to which these are bound.
//
// Inside there is one form, Surface. Encode writes it as messages of A2UI v0.8,
// v0.9 or v1.0. Read parses such messages of other agents and of tools, ReadActions
// parses the actions of people, and Negotiate finds out what a client can draw.
// Catalogs holds the known components: those of A2UI itself, and those of other
// catalogs, which have a namespace (googlemaps:MapView) or unique names.
//
// Package agent passes surfaces through a turn. room stores them and publishes them
// as events of agui; a2a and the console show them. admin registers catalogs.
//
// Read the files in this order: surface.go (the form and its checks), catalog.go,
// builtin.go and property_check.go (components), version.go (clients), encode.go
// and encode_v08.go, read.go and read_v08.go, action.go, then catalog_document.go
// and expand.go (registered catalogs and their fallbacks).
package a2ui
