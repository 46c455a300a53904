package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// Consents are the permissions that users gave to OAuth clients to act for them.
type Consents interface {
	// ListConsents lists the consents of one user by id or, with "", of all users.
	ListConsents(ctx context.Context, tenant junctor.TenantID, user string) ([]junctor.Consent, error)
	// RevokeConsent deletes a consent and all tokens of it.
	RevokeConsent(ctx context.Context, tenant junctor.TenantID, id string) error
}

// consentQuery is the query of list-consents.
type consentQuery struct {
	ListQuery
	User string `query:"user" maxLength:"100" doc:"Only the consents of this user, by id or name."`
}

// consentID is the path of one consent.
type consentID struct {
	ID string `path:"id" doc:"The consent's id."`
}

// registerConsentRoutes registers the routes below /consents.
func (a *api) registerConsentRoutes() {
	tags := []string{"consents"}
	registerList(a, huma.Operation{
		OperationID: "list-consents", Method: http.MethodGet, Path: "/consents", Tags: tags,
		Summary: "List the OAuth consents that users granted to programs: for admins all, for other users their own",
	}, consentList(), func(ctx context.Context, in *consentQuery) ([]junctor.Consent, error) {
		list, err := a.listConsents(ctx, in.User)
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-consent", Method: http.MethodDelete, Path: "/consents/{id}", Summary: "Revoke a consent and all tokens of the program", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *consentID) (*empty, error) {
		list, err := a.listConsents(ctx, "")
		if err == nil && !slices.ContainsFunc(list, func(c junctor.Consent) bool { return c.ID == in.ID }) {
			err = junctor.Errorf(junctor.CodeNotFound, "consent not found; junctor consent ls lists the ids of the consents")
		}
		if err != nil {
			return nil, err
		}
		return &empty{}, a.Consents.RevokeConsent(ctx, callerOf(ctx).Tenant, in.ID)
	})
}

// listConsents lists the consents that the caller may see, of one user if one is named.
// resolveUserFilter says which those are.
func (a *api) listConsents(ctx context.Context, user string) ([]junctor.Consent, error) {
	user, some, err := a.resolveUserFilter(ctx, user)
	if err != nil || !some {
		return nil, err
	}
	return a.Consents.ListConsents(ctx, callerOf(ctx).Tenant, user)
}

// consentList is the shape of list-consents.
func consentList() listShape[junctor.Consent] {
	return listShape[junctor.Consent]{
		id: func(v *junctor.Consent) string { return v.ID },
		orders: []listOrder[junctor.Consent]{
			byTime("created_at", func(v *junctor.Consent) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *junctor.Consent) time.Time { return v.UpdatedAt }),
			byTime("last_used_at", func(v *junctor.Consent) time.Time { return v.LastUsedAt }),
			byText("client_name", func(v *junctor.Consent) string { return v.ClientName }),
		},
		text: func(v *junctor.Consent) []string { return []string{v.Client, v.ClientName, v.Resource} },
	}
}
