package admin

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/attention"
)

// calm is Attention without any item.
type calm struct{}

func (calm) List(context.Context, *junctor.Principal, attention.Filter) (attention.List, error) {
	return attention.List{Items: []junctor.AttentionItem{}}, nil
}

func (c calm) Peek(ctx context.Context, p *junctor.Principal, f attention.Filter) (attention.List, error) {
	return c.List(ctx, p, f)
}

func (calm) Outages(_ context.Context, _ *junctor.Principal, server string, from, _ time.Time) ([]attention.Outage, error) {
	return []attention.Outage{{Server: server, Name: server, Severity: junctor.SeverityCritical, Problem: "it does not answer", From: from}}, nil
}

func (calm) Changed() <-chan struct{} { return nil }
