// Package store passes messages on.
package store

import (
	"context"
	"log/slog"
)

const message = "cannot close, the store"

// ErrorAttr makes an attribute.
func ErrorAttr(err error) slog.Attr { return slog.Any("error", err) }

// Warn logs the message that it is given.
func Warn(log *slog.Logger, message string, attributes ...any) {
	log.Warn(message, attributes...)
}

// Close logs a constant and attributes that it collects.
func Close(log *slog.Logger) {
	var attributes []slog.Attr
	attributes = append(attributes, slog.Int("rows", 1))
	log.LogAttrs(context.Background(), slog.LevelDebug, message, attributes...)
}
