// Package redact is a placeholder until the branch with it is merged.
package redact

type Redactor struct{ names []string }

func Compile(names []string) (*Redactor, error) { return &Redactor{names}, nil }
