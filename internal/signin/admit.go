package signin

import (
	"context"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// admit says which user a person is whom the provider vouches for. Who has come
// before is known by the provider's own id for them; who comes for the first
// time becomes the user of that name, or a new one, as configured.
func (s *SignIn) admit(ctx context.Context, c claims) (junctor.User, error) {
	cfg := s.Provider.cfg
	email, err := s.Provider.email(c)
	if err != nil {
		return junctor.User{}, err
	}
	role, err := s.Provider.role(c)
	if err != nil {
		return junctor.User{}, err
	}
	u, err := s.Identity.LinkedUser(ctx, cfg.Issuer, c.subject)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		u, err = s.first(ctx, c, email, role)
	}
	switch {
	case err != nil:
		return junctor.User{}, err
	case u.Tenant != cfg.Tenant || u.Disabled:
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "Your account is switched off here. Ask an admin.")
	case len(cfg.Roles) > 0 && u.Role != role:
		return s.Identity.ChangeUser(ctx, u.Tenant, u.ID, func(u *junctor.User) error { u.Role = role; return nil })
	}
	return u, nil
}

// email gives the person's e-mail address where the provider has made sure of
// it, and refuses one of a domain that is not let in.
func (p *Provider) email(c claims) (string, error) {
	email, _ := c.all["email"].(string)
	if verified, _ := c.all["email_verified"].(bool); !verified {
		email = ""
	}
	email = strings.ToLower(email)
	if slices.Contains(p.cfg.Domains, "*") || len(p.cfg.Domains) == 0 {
		return email, nil
	}
	at := strings.LastIndexByte(email, '@')
	if at < 0 || !slices.ContainsFunc(p.cfg.Domains, func(d string) bool { return strings.EqualFold(d, email[at+1:]) }) {
		return "", junctor.Errorf(junctor.CodeDenied, "Accounts of your e-mail domain are not let in here, or %s has not made sure of your address. Ask an admin.", p.cfg.Name)
	}
	return email, nil
}

// role is what the claims make of the person; without rules the common one.
func (p *Provider) role(c claims) (junctor.UserRole, error) {
	strongest := p.cfg.Role
	for _, rule := range p.cfg.Roles {
		if says(c.all[rule.Claim], rule.Value) && stronger(rule.Role, strongest) {
			strongest = rule.Role
		}
	}
	if strongest == "" && len(p.cfg.Roles) > 0 {
		return "", junctor.Errorf(junctor.CodeDenied, "Nothing that %s says of you gives you a role here. Ask an admin.", p.cfg.Name)
	}
	return strongest, nil
}

func stronger(a, b junctor.UserRole) bool {
	roles := junctor.UserRoles() // strongest first
	return b == "" || slices.Index(roles, a) < slices.Index(roles, b)
}

// says says whether a claim has a value, alone or in its list.
func says(claim any, value string) bool {
	list, isList := claim.([]any)
	return claim == value || isList && slices.Contains(list, any(value))
}

// first takes in a person who was not here before.
func (s *SignIn) first(ctx context.Context, c claims, email string, role junctor.UserRole) (junctor.User, error) {
	cfg := s.Provider.cfg
	name := email
	if name == "" && cfg.Create {
		name, _ = c.all["preferred_username"].(string)
	}
	if name == "" {
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "%s has not made sure of your e-mail address, so nobody knows who you are here. Ask an admin.", cfg.Name)
	}
	u, err := s.Identity.UserByName(ctx, cfg.Tenant, name)
	switch {
	case err == nil:
		// A name is somebody's by their address, which is made sure of, and once:
		// an address that was given to another person is not the former one's.
		linked, err := s.Identity.Linked(ctx, u.Tenant, u.ID, cfg.Issuer)
		if err != nil {
			return junctor.User{}, err
		}
		if email == "" || linked {
			return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "There is a user %s already, who is not you as far as %s says. Ask an admin.", name, cfg.Name)
		}
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return junctor.User{}, err
	case !cfg.Create:
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "There is no user %s here. Ask an admin to add you.", name)
	case role == "":
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "New users get no role here. Ask an admin to add you.")
	default:
		if u, err = s.Identity.CreateUser(ctx, cfg.Tenant, identity.NewUser{Name: name, Role: role}); err != nil {
			return junctor.User{}, err
		}
	}
	return u, s.Identity.LinkUser(ctx, u.Tenant, u.ID, cfg.Issuer, c.subject)
}
