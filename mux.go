package junctor

import "net/http"

// Mux registers handlers of HTTP requests by pattern, as http.ServeMux does. Packages with
// endpoints register them on it; package app keeps the list of all routes.
type Mux interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}
