package catalog

import "iter"

// Servers returns all servers of the tenant, by id, without regard to visibility.
func (sh *Shelf) Servers() iter.Seq[*Server] {
	return func(yield func(*Server) bool) {
		for _, s := range sh.servers {
			if !yield(s) {
				return
			}
		}
	}
}

// Tools returns all tools of the server, without regard to visibility.
func (s *Server) Tools() iter.Seq[*Tool] {
	return func(yield func(*Tool) bool) {
		for _, t := range s.tools {
			if !yield(t) {
				return
			}
		}
	}
}
