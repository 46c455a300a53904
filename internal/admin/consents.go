package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Consents is what people let programs do for them.
type Consents interface {
	// ListConsents lists those of one user by id or, with "", of all.
	ListConsents(ctx context.Context, tenant junctor.TenantID, user string) ([]junctor.Consent, error)
	RevokeConsent(ctx context.Context, tenant junctor.TenantID, id string) error
}

type consentQuery struct {
	User string `query:"user" maxLength:"100" doc:"Only the consents of this user, by id or name."`
}

type consentID struct {
	ID string `path:"id" doc:"The consent's id."`
}

func (a *api) consentRoutes() {
	tags := []string{"consents"}
	route(a, huma.Operation{
		OperationID: "list-consents", Method: http.MethodGet, Path: "/consents", Tags: tags,
		Summary: "List what programs may do for people who let them log in with OAuth: an admin all, others their own",
	}, func(ctx context.Context, in *consentQuery) (*pageOf[junctor.Consent], error) {
		list, err := a.consents(ctx, in.User)
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "delete-consent", Method: http.MethodDelete, Path: "/consents/{id}", Summary: "Revoke a consent: the program's tokens end", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *consentID) (*none, error) {
		list, err := a.consents(ctx, "")
		if err == nil && !slices.ContainsFunc(list, func(c junctor.Consent) bool { return c.ID == in.ID }) {
			err = junctor.Errorf(junctor.CodeNotFound, "there is no such consent; junctor consent ls shows their ids")
		}
		if err != nil {
			return nil, err
		}
		return &none{}, a.Consents.RevokeConsent(ctx, caller(ctx).Tenant, in.ID)
	})
}

func (a *api) consents(ctx context.Context, user string) ([]junctor.Consent, error) {
	user, some, err := a.whose(ctx, user)
	if err != nil || !some {
		return nil, err
	}
	return a.Consents.ListConsents(ctx, caller(ctx).Tenant, user)
}
