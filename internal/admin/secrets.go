package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/junctor-mcp/junctor/internal/seal"
)

// maxSecretBody leaves room for a secret in which JSON has to escape every
// character.
const maxSecretBody = 6*seal.MaxSecret + 1024

type secretQuery struct {
	Owner string `query:"owner" maxLength:"128" doc:"Only the secrets of this owner."`
}

type secretName struct {
	Owner string `path:"owner" maxLength:"128" doc:"What the secret belongs to, such as a server's id."`
	Name  string `path:"name" maxLength:"128" doc:"The secret's name."`
}

type newSecret struct {
	Owner string `path:"owner" maxLength:"128" doc:"What the secret belongs to, such as a server's id."`
	Name  string `path:"name" maxLength:"128" doc:"The secret's name."`
	Body  struct {
		Value seal.Secret `json:"value" doc:"The secret itself. It is stored encrypted, and no route answers it."`
	}
}

type oneSecret struct{ Body seal.SecretInfo }

type oneRotation struct{ Body seal.Rotation }

func (a *api) secretRoutes() {
	tags := []string{"secrets"}
	route(a, huma.Operation{
		OperationID: "list-secrets", Method: http.MethodGet, Path: "/secrets", Summary: "List the names of secrets", Tags: tags,
	}, func(ctx context.Context, in *secretQuery) (*pageOf[seal.SecretInfo], error) {
		secrets, err := a.Secrets.List(ctx, caller(ctx).Tenant)
		keeps := map[string]bool{}
		secrets = slices.DeleteFunc(secrets, func(s seal.SecretInfo) bool {
			if _, judged := keeps[s.Owner]; !judged {
				keeps[s.Owner] = a.Secrets.Keeps(ctx, caller(ctx), s.Owner) == nil
			}
			return in.Owner != "" && s.Owner != in.Owner || !keeps[s.Owner]
		})
		return newPage(secrets, ""), err
	})
	route(a, huma.Operation{
		OperationID: "get-secret", Method: http.MethodGet, Path: "/secrets/{owner}/{name}", Summary: "Say whether there is a secret", Tags: tags,
	}, func(ctx context.Context, in *secretName) (*oneSecret, error) {
		if err := a.Secrets.Keeps(ctx, caller(ctx), in.Owner); err != nil {
			return nil, err
		}
		info, err := a.Secrets.Info(ctx, caller(ctx).Tenant, in.Owner, in.Name)
		return &oneSecret{info}, err
	})
	route(a, huma.Operation{
		OperationID: "put-secret", Method: http.MethodPut, Path: "/secrets/{owner}/{name}", Summary: "Store a secret, or replace it", Tags: tags,
		MaxBodyBytes: maxSecretBody,
	}, func(ctx context.Context, in *newSecret) (*oneSecret, error) {
		if err := a.Secrets.Keeps(ctx, caller(ctx), in.Owner); err != nil {
			return nil, err
		}
		if err := a.Secrets.Put(ctx, caller(ctx).Tenant, in.Owner, in.Name, in.Body.Value); err != nil {
			return nil, err
		}
		info, err := a.Secrets.Info(ctx, caller(ctx).Tenant, in.Owner, in.Name)
		return &oneSecret{info}, err
	})
	route(a, huma.Operation{
		OperationID: "delete-secret", Method: http.MethodDelete, Path: "/secrets/{owner}/{name}", Summary: "Forget a secret", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *secretName) (*none, error) {
		if err := a.Secrets.Keeps(ctx, caller(ctx), in.Owner); err != nil {
			return nil, err
		}
		return &none{}, a.Secrets.Delete(ctx, caller(ctx).Tenant, in.Owner, in.Name)
	})
	route(a, huma.Operation{
		OperationID: "rotate-secret", Method: http.MethodPost, Path: "/secrets/rotate", Summary: "Replace the key that secrets are sealed under", Tags: tags,
		// It lasts as long as there are secrets; nobody has to wait.
		BodyReadTimeout: -1,
	}, func(ctx context.Context, _ *none) (*oneRotation, error) {
		done, err := a.Secrets.Rotate(ctx)
		return &oneRotation{done}, err
	})
}
