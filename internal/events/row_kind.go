package events

import (
	"context"
	"slices"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// rowKind is a declare.Kind whose things are rows of the store and nothing else. W is
// the description of a thing, R its row. The fields are what differs between such kinds.
type rowKind[W, R any] struct {
	noun string
	want []W
	file string // that declares the things; "" if a caller asks for them

	wish   func(*W) declare.Wish
	row    func(*W) *R
	rows   func(ctx context.Context) ([]R, error)
	origin func(*R) (id, declared string)
	// fault returns why a thing cannot be made; had is the row of its id, or nil.
	fault func(ctx context.Context, w *W, had *R) error
	// hidden returns differences of what is no field of the row; nil: there are none.
	hidden func(ctx context.Context, w *W, had *R) ([]admin.FieldChange, error)
	store  func(ctx context.Context, w *W, had *R) error
	remove func(ctx context.Context, id string) error
}

// Noun implements declare.Kind.
func (k *rowKind[W, R]) Noun() string { return k.noun }

// Wanted implements declare.Kind.
func (k *rowKind[W, R]) Wanted() []declare.Wish {
	out := make([]declare.Wish, len(k.want))
	for i := range k.want {
		out[i] = k.wish(&k.want[i])
	}
	return out
}

// find returns the description of an id, which must be wanted.
func (k *rowKind[W, R]) find(id string) *W {
	return &k.want[slices.IndexFunc(k.want, func(w W) bool { return k.wish(&w).ID == id })]
}

// Present implements declare.Kind.
func (k *rowKind[W, R]) Present(ctx context.Context) (map[string]declare.Holding, error) {
	rows, err := k.rows(ctx)
	out := map[string]declare.Holding{}
	for i := range rows {
		id, declared := k.origin(&rows[i])
		out[id] = declare.Holding{Declared: declared}
	}
	return out, err
}

// had returns the row of an id, or nil.
func (k *rowKind[W, R]) had(ctx context.Context, id string) (*R, error) {
	rows, err := k.rows(ctx)
	for i := range rows {
		if there, _ := k.origin(&rows[i]); there == id {
			return &rows[i], err
		}
	}
	return nil, err
}

// FindFault implements declare.Kind.
func (k *rowKind[W, R]) FindFault(ctx context.Context, id string) error {
	had, err := k.had(ctx, id)
	if err != nil {
		return err
	}
	return k.fault(ctx, k.find(id), had)
}

// Diff implements declare.Kind.
func (k *rowKind[W, R]) Diff(ctx context.Context, id string) ([]admin.FieldChange, error) {
	had, err := k.had(ctx, id)
	if err != nil || had == nil {
		return nil, err
	}
	want := k.find(id)
	from, to := declare.Flatten(had), declare.Flatten(k.row(want))
	if k.file != "" {
		_, from["declared"] = k.origin(had)
		to["declared"] = k.file
	}
	out := declare.Differences(from, to)
	if k.hidden == nil {
		return out, nil
	}
	more, err := k.hidden(ctx, want, had)
	return append(out, more...), err
}

// Put implements declare.Kind.
func (k *rowKind[W, R]) Put(ctx context.Context, id string) error {
	had, err := k.had(ctx, id)
	if err != nil {
		return err
	}
	return k.store(ctx, k.find(id), had)
}

// Remove implements declare.Kind.
func (k *rowKind[W, R]) Remove(ctx context.Context, id string) error { return k.remove(ctx, id) }
