package identity

import (
	"context"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Admission says whom of the people that an identity provider vouches for to
// let in, and as what.
type Admission struct {
	Issuer  string
	Name    string // what people call the provider
	Tenant  junctor.TenantID
	Create  bool             // make a user of whoever is let in and is none yet; else only users that are there come in
	Domains []string         // of e-mail addresses that are let in; "*" is all
	Roles   []RoleRule       // what the claims make of a person, each time; the strongest holds
	Role    junctor.UserRole // of those whom no rule fits; "" lets them not in where there are rules, and makes none a user
}

// RoleRule gives a role to people of whom a claim says a value, alone or in a
// list.
type RoleRule struct {
	Claim, Value string
	Role         junctor.UserRole
}

// Claims is what a provider says of a person. Whoever makes one has verified it.
type Claims struct {
	Subject string // the provider's own id for the person
	All     map[string]any
}

// Admit says which user a person is whom the provider vouches for. Who has come
// before is known by the provider's own id for them; who comes for the first
// time becomes the user of that name, or a new one, as the admission says.
// Denied, with words for the person, where they are not let in.
func (i *Identity) Admit(ctx context.Context, a Admission, c Claims) (junctor.User, error) {
	email, err := a.verifiedEmail(c)
	if err != nil {
		return junctor.User{}, err
	}
	role, err := a.resolveRole(c)
	if err != nil {
		return junctor.User{}, err
	}
	u, err := i.LinkedUser(ctx, a.Issuer, c.Subject)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		u, err = i.admitNewcomer(ctx, a, c, email, role)
	}
	switch {
	case err != nil:
		return junctor.User{}, err
	case u.Tenant != a.Tenant || u.Disabled:
		return junctor.User{}, errUserDisabled()
	case len(a.Roles) > 0 && u.Role != role:
		return i.ChangeUser(ctx, u.Tenant, u.ID, func(u *junctor.User) error { u.Role = role; return nil })
	}
	return u, nil
}

func errUserDisabled() error {
	return junctor.Errorf(junctor.CodeDenied, "Your account is switched off here. Ask an admin.")
}

// verifiedEmail gives the person's e-mail address where the provider has made sure of
// it, and refuses one of a domain that is not let in.
func (a *Admission) verifiedEmail(c Claims) (string, error) {
	email, _ := c.All["email"].(string)
	if verified, _ := c.All["email_verified"].(bool); !verified {
		email = ""
	}
	email = strings.ToLower(email)
	if slices.Contains(a.Domains, "*") || len(a.Domains) == 0 {
		return email, nil
	}
	at := strings.LastIndexByte(email, '@')
	if at < 0 || !slices.ContainsFunc(a.Domains, func(d string) bool { return strings.EqualFold(d, email[at+1:]) }) {
		return "", junctor.Errorf(junctor.CodeDenied, "Accounts of your e-mail domain are not let in here, or %s has not made sure of your address. Ask an admin.", a.Name)
	}
	return email, nil
}

// resolveRole is what the claims make of the person; without rules the common one.
func (a *Admission) resolveRole(c Claims) (junctor.UserRole, error) {
	strongest := a.Role
	for _, rule := range a.Roles {
		if claimHasValue(c.All[rule.Claim], rule.Value) && isStrongerRole(rule.Role, strongest) {
			strongest = rule.Role
		}
	}
	if strongest == "" && len(a.Roles) > 0 {
		return "", junctor.Errorf(junctor.CodeDenied, "Nothing that %s says of you gives you a role here. Ask an admin.", a.Name)
	}
	return strongest, nil
}

func isStrongerRole(a, b junctor.UserRole) bool {
	roles := junctor.UserRoles() // strongest first
	return b == "" || slices.Index(roles, a) < slices.Index(roles, b)
}

// claimHasValue says whether a claim has a value, alone or in its list.
func claimHasValue(claim any, value string) bool {
	list, isList := claim.([]any)
	return claim == value || isList && slices.Contains(list, any(value))
}

// admitNewcomer takes in a person who was not here before.
func (i *Identity) admitNewcomer(ctx context.Context, a Admission, c Claims, email string, role junctor.UserRole) (junctor.User, error) {
	name := email
	if name == "" && a.Create {
		name, _ = c.All["preferred_username"].(string)
	}
	if name == "" {
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "%s has not made sure of your e-mail address, so nobody knows who you are here. Ask an admin.", a.Name)
	}
	u, err := i.UserByName(ctx, a.Tenant, name)
	switch {
	case err == nil:
		// A name is somebody's by their address, which is made sure of, and once:
		// an address that was given to another person is not the former one's.
		linked, err := i.Linked(ctx, u.Tenant, u.ID, a.Issuer)
		if err != nil {
			return junctor.User{}, err
		}
		if email == "" || linked {
			return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "There is a user %s already, who is not you as far as %s says. Ask an admin.", name, a.Name)
		}
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return junctor.User{}, err
	case !a.Create:
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "There is no user %s here. Ask an admin to add you.", name)
	case role == "":
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "New users get no role here. Ask an admin to add you.")
	default:
		if u, err = i.CreateUser(ctx, a.Tenant, NewUser{Name: name, Role: role}); err != nil {
			return junctor.User{}, err
		}
	}
	return u, i.LinkUser(ctx, u.Tenant, u.ID, a.Issuer, c.Subject)
}
