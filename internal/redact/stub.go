// Package redact is a placeholder until the branch with it is merged.
package redact

import junctor "github.com/junctor-mcp/junctor"

type Redactor struct{ names []string }

func Compile(names []string) (*Redactor, error) { return &Redactor{names}, nil }

func (r *Redactor) Result(kind junctor.Kind, body []byte, fits func([]byte) bool) ([]byte, int, error) {
	return body, 0, nil
}

func Cut(kind junctor.Kind, body []byte, most int, fits func([]byte) bool) ([]byte, int, error) {
	return body, 0, nil
}
