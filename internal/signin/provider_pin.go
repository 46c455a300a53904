package signin

import (
	"context"
	"encoding/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// PinOwner is the owner, in the vault, of the secret that holds the pinned origin. No
// server can have that name, so nobody owns the secret by owning a server.
const PinOwner = "signin:oidc"

// pinName is the name of that secret.
const pinName = "token-origin"

// Vault keeps secrets.
type Vault interface {
	Get(ctx context.Context, tenant junctor.TenantID, owner, name string) (secret seal.Secret, ok bool, err error)
	Put(ctx context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error
}

// VaultPin keeps the origin of the token endpoint in the vault, for one client at one
// issuer. It implements TokenPin.
type VaultPin struct {
	Vault            Vault
	Issuer, ClientID string
}

// pinnedProvider is what is stored: it holds for one client at one issuer.
type pinnedProvider struct {
	Issuer string `json:"issuer"`
	Client string `json:"client"`
	Origin string `json:"origin"`
}

// Origin implements TokenPin.
func (p VaultPin) Origin(ctx context.Context) (string, error) {
	packed, ok, err := p.Vault.Get(ctx, junctor.DefaultTenant, PinOwner, pinName)
	if err != nil || !ok {
		return "", err
	}
	var pinned pinnedProvider
	if err := json.Unmarshal([]byte(packed.Reveal()), &pinned); err != nil {
		return "", junctor.Errorf(junctor.CodeUnavailable, "cannot read the stored token endpoint of the identity provider: %s", p.Remedy())
	}
	if pinned.Issuer != p.Issuer || pinned.Client != p.ClientID {
		return "", nil // of a provider that the settings named before
	}
	return pinned.Origin, nil
}

// PinTo implements TokenPin.
func (p VaultPin) PinTo(ctx context.Context, origin string) error {
	if now, err := p.Origin(ctx); err != nil || now == origin {
		return err
	}
	text, err := json.Marshal(pinnedProvider{p.Issuer, p.ClientID, origin})
	if err != nil {
		return junctor.AsError(err)
	}
	return p.Vault.Put(ctx, junctor.DefaultTenant, PinOwner, pinName, seal.NewSecret(string(text)))
}

// Remedy implements TokenPin.
func (VaultPin) Remedy() string {
	return "run: junctor secret rm " + PinOwner + " " + pinName
}
