package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/junctor-mcp/junctor/internal/seal"
)

// maxSecretBody bounds a request with a secret: JSON may escape every character of it with
// six.
const maxSecretBody = 6*seal.MaxSecret + 1024

// secretQuery is the query of list-secrets.
type secretQuery struct {
	ListQuery
	Owner string `query:"owner" maxLength:"128" doc:"Only the secrets of this owner."`
}

// secretName is the path of one secret.
type secretName struct {
	Owner string `path:"owner" maxLength:"128" doc:"Owner of the secret, such as a server's ID."`
	Name  string `path:"name" maxLength:"128" doc:"The secret's name."`
}

// newSecret is the request that stores a secret.
type newSecret struct {
	Owner string `path:"owner" maxLength:"128" doc:"Owner of the secret, such as a server's ID."`
	Name  string `path:"name" maxLength:"128" doc:"The secret's name."`
	Body  struct {
		Value seal.Secret `json:"value" doc:"Value of the secret. It is stored encrypted and never returned."`
	}
}

// secretResponse is the name and the times of a secret.
type secretResponse struct{ Body seal.SecretInfo }

// rotationResponse is the result of a key rotation.
type rotationResponse struct{ Body seal.RotationResult }

// registerSecretRoutes registers the routes below /secrets. No route answers with a
// secret's value. The list asks Keeps once for each owner, because an owner may have many
// secrets.
func (a *api) registerSecretRoutes() {
	tags := []string{"secrets"}
	registerList(a, huma.Operation{
		OperationID: "list-secrets", Method: http.MethodGet, Path: "/secrets", Summary: "List the names of secrets", Tags: tags,
	}, secretList(), func(ctx context.Context, in *secretQuery) ([]seal.SecretInfo, error) {
		secrets, err := a.Secrets.List(ctx, callerOf(ctx).Tenant)
		keeps := map[string]bool{}
		secrets = slices.DeleteFunc(secrets, func(s seal.SecretInfo) bool {
			if _, judged := keeps[s.Owner]; !judged {
				keeps[s.Owner] = a.Secrets.Keeps(ctx, callerOf(ctx), s.Owner) == nil
			}
			return in.Owner != "" && s.Owner != in.Owner || !keeps[s.Owner]
		})
		return secrets, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-secret", Method: http.MethodGet, Path: "/secrets/{owner}/{name}", Summary: "Show whether a secret exists", Tags: tags,
	}, func(ctx context.Context, in *secretName) (*secretResponse, error) {
		if err := a.Secrets.Keeps(ctx, callerOf(ctx), in.Owner); err != nil {
			return nil, err
		}
		info, err := a.Secrets.Info(ctx, callerOf(ctx).Tenant, in.Owner, in.Name)
		return &secretResponse{info}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-secret", Method: http.MethodPut, Path: "/secrets/{owner}/{name}", Summary: "Store or replace a secret", Tags: tags,
		MaxBodyBytes: maxSecretBody,
	}, func(ctx context.Context, in *newSecret) (*secretResponse, error) {
		if err := a.Secrets.Keeps(ctx, callerOf(ctx), in.Owner); err != nil {
			return nil, err
		}
		if err := a.Secrets.Put(ctx, callerOf(ctx).Tenant, in.Owner, in.Name, in.Body.Value); err != nil {
			return nil, err
		}
		info, err := a.Secrets.Info(ctx, callerOf(ctx).Tenant, in.Owner, in.Name)
		return &secretResponse{info}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-secret", Method: http.MethodDelete, Path: "/secrets/{owner}/{name}", Summary: "Delete a secret", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *secretName) (*empty, error) {
		if err := a.Secrets.Keeps(ctx, callerOf(ctx), in.Owner); err != nil {
			return nil, err
		}
		return &empty{}, a.Secrets.Delete(ctx, callerOf(ctx).Tenant, in.Owner, in.Name)
	})
	registerRoute(a, huma.Operation{
		OperationID: "rotate-secret", Method: http.MethodPost, Path: "/secrets/rotate", Summary: "Rotate the key that encrypts secrets", Tags: tags,
		// It lasts as long as there are secrets; nobody has to wait.
		BodyReadTimeout: -1,
	}, func(ctx context.Context, _ *empty) (*rotationResponse, error) {
		done, err := a.Secrets.Rotate(ctx)
		return &rotationResponse{done}, err
	})
}

// secretList is the shape of list-secrets.
func secretList() listShape[seal.SecretInfo] {
	return listShape[seal.SecretInfo]{
		id: func(v *seal.SecretInfo) string { return v.Owner + "\n" + v.Name },
		orders: []listOrder[seal.SecretInfo]{
			byText("owner", func(v *seal.SecretInfo) string { return v.Owner }),
			byText("name", func(v *seal.SecretInfo) string { return v.Name }),
			byTime("created_at", func(v *seal.SecretInfo) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *seal.SecretInfo) time.Time { return v.UpdatedAt }),
		},
		text: func(v *seal.SecretInfo) []string { return []string{v.Owner, v.Name} },
	}
}
