package instance

import (
	"context"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

// UnreadableSecret is a secret that the settings refer to, and that cannot be read here
// and now.
type UnreadableSecret struct {
	Setting string // name of the setting, or the place in the settings file
	Problem string // why, and what to do; it never contains the secret
}

// FindUnreadableSecrets returns the settings whose secret cannot be read. It runs no
// command, so a reference cmd: counts as readable.
func FindUnreadableSecrets(ctx context.Context, cfg *config.Config) []UnreadableSecret {
	return readReferences(ctx, cfg, map[string][]string{"oidc-client-secret": {cfg.OIDC.ClientSecret}})
}

// FindUnreadableDeclared is FindUnreadableSecrets for the sealing key and the settings file:
// the credentials of servers, the secrets of sources and the nodes of chains. A running
// instance has read them itself.
func FindUnreadableDeclared(ctx context.Context, cfg *config.Config) []UnreadableSecret {
	places := map[string][]string{"JUNCTOR_SEAL_KEY": {cfg.SealKey()}}
	declared := cfg.Declared()
	for _, s := range declared.Servers {
		if s.Disabled {
			continue
		}
		for _, r := range s.Connection().PlacedReferences() {
			place := "servers." + s.ID + "." + fieldOfPlace(r.Place)
			places[place] = append(places[place], r.Text)
		}
	}
	for _, s := range declared.Sources {
		places["sources."+s.ID+".secret"] = []string{s.Secret()}
	}
	for i := range cfg.Chains {
		places["chains."+cfg.Chains[i].Name+".rpc"] = cfg.Chains[i].Nodes
	}
	return readReferences(ctx, cfg, places)
}

// fieldOfPlace returns the field of a server in a settings file that has the credential at
// a place of its connection.
func fieldOfPlace(place string) string {
	switch place {
	case junctor.PlaceAuth: // the name that each type of auth accepts
		return "auth.secret"
	case junctor.PlaceQuery:
		return "url"
	}
	return strings.ReplaceAll(place, "/", ".")
}

// readReferences reads the references of each place. Texts that are no references are left out.
func readReferences(ctx context.Context, cfg *config.Config, places map[string][]string) (found []UnreadableSecret) {
	for place, references := range places {
		for _, reference := range references {
			if !strings.HasPrefix(reference, junctor.ReferenceEnv) && !strings.HasPrefix(reference, junctor.ReferenceFile) {
				continue
			}
			if _, err := ReadSetting(ctx, cfg, reference); err != nil {
				found = append(found, UnreadableSecret{place, junctor.AsError(err).Message})
			}
		}
	}
	slices.SortFunc(found, func(a, b UnreadableSecret) int {
		return strings.Compare(a.Setting+"\x00"+a.Problem, b.Setting+"\x00"+b.Problem)
	})
	return found
}
