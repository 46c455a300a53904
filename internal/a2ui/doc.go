// Package a2ui is the interface that agents answer with, beside text: surfaces,
// made of components and of the data that these are bound to.
//
// Inside there is one form, Surface. Encode writes it as messages of A2UI v0.8,
// v0.9 and v1.0, Read reads those of other agents and of tools, ReadActions what
// people did on a surface, Negotiate what a client can draw. Catalogs knows the
// components by name: those of A2UI itself, and those of other catalogues, which
// have a namespace (googlemaps:MapView) or names of their own.
//
// agent carries surfaces through its loop, room keeps them and tells of them in
// the events of agui, the A2A doors and the console show them.
package a2ui
