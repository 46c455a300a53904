package app

import (
	"context"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Where it is kept which token endpoint the identity provider had when somebody first
// signed in. No server can have the owner's name, so that nobody owns it by that.
const (
	providerPinOwner = "signin:oidc"
	providerPinName  = "token-origin"
)

// providerPin keeps that for the client that the settings name, sealed. It implements
// signin.TokenPin.
type providerPin struct {
	vault          *seal.Vault
	issuer, client string
}

// pinnedProvider is what is stored: it holds for one client at one issuer.
type pinnedProvider struct {
	Issuer string `json:"issuer"`
	Client string `json:"client"`
	Origin string `json:"origin"`
}

// Origin implements signin.TokenPin.
func (p providerPin) Origin(ctx context.Context) (string, error) {
	packed, ok, err := p.vault.Get(ctx, junctor.DefaultTenant, providerPinOwner, providerPinName)
	if err != nil || !ok {
		return "", err
	}
	var pinned pinnedProvider
	if err := json.Unmarshal([]byte(packed.Reveal()), &pinned); err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "where people signed in until now cannot be read: %s", p.Remedy())
	}
	if pinned.Issuer != p.issuer || pinned.Client != p.client {
		return "", nil // of a provider that the settings named before
	}
	return pinned.Origin, nil
}

// PinTo implements signin.TokenPin.
func (p providerPin) PinTo(ctx context.Context, origin string) error {
	if now, err := p.Origin(ctx); err != nil || now == origin {
		return err
	}
	text, err := json.Marshal(pinnedProvider{p.issuer, p.client, origin})
	if err != nil {
		return junctor.AsError(err)
	}
	return p.vault.Put(ctx, junctor.DefaultTenant, providerPinOwner, providerPinName, seal.NewSecret(string(text)))
}

// Remedy implements signin.TokenPin.
func (providerPin) Remedy() string {
	return "run: junctor secret rm " + providerPinOwner + " " + providerPinName
}
