package identity

import (
	"cmp"
	"context"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// AdmissionPolicy is the policy for people whom an identity provider has authenticated: who may
// sign in, and with which role.
type AdmissionPolicy struct {
	Issuer string
	Name   string // display name of the provider
	Tenant junctor.TenantID
	// Create makes a new user for people who are admitted and have none. Without it, only
	// existing users may sign in.
	CreateUsers bool
	Domains     []string   // e-mail domains that are admitted; "*", or none, admits all
	RoleRules   []RoleRule // rules that are applied at each sign-in; the strongest role wins
	// Role is the role of people that no rule matches. If it is empty and there are
	// rules, such people are rejected. If it is empty, no new user is created.
	DefaultRole junctor.UserRole
	// GroupsClaim is the claim with the groups of a person: a list, or one name. The default
	// is groups.
	GroupsClaim string
}

// RoleRule gives a role to people whose claim is the value, or a list that contains it.
type RoleRule struct {
	Claim, Value string
	Role         junctor.UserRole
}

// Claims are the statements of a provider about a person. The code that makes a Claims
// has verified their signature.
type Claims struct {
	Subject string         // the provider's id of the person
	Values  map[string]any // all claims by name, decoded from JSON
	// Complete says that the person has signed in: if the claims name no groups, the person
	// is in none. An access token may leave them out.
	Complete bool
}

// maxGroups is how many groups of a person are kept, and maxGroupName how long the name of one
// may be, in bytes. Longer names are left out.
const (
	maxGroups    = 200
	maxGroupName = 256
)

// GroupsOf returns the groups of a person in order. They are nil if the claims state none, and
// empty if they state that the person is in none.
func (a *AdmissionPolicy) GroupsOf(c Claims) []string {
	claim, stated := c.Values[cmp.Or(a.GroupsClaim, "groups")]
	if !stated && !c.Complete {
		return nil
	}
	groups := []string{}
	add := func(one any) {
		if name, ok := one.(string); ok && name != "" && len(name) <= maxGroupName {
			groups = append(groups, name)
		}
	}
	switch value := claim.(type) {
	case string:
		add(value)
	case []any:
		for _, one := range value {
			add(one)
		}
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	return groups[:min(len(groups), maxGroups)]
}

// AdmitUser returns the user for a person whom a provider has authenticated. A person who has
// signed in before is known by the provider's id. At the first sign-in the person becomes
// the user of that name, or a new user, as the policy says. The role is updated if the
// policy has rules, and the groups are if the claims state them. A person who is not admitted gets a denied error with a message to
// show.
func (i *Identity) AdmitUser(ctx context.Context, a AdmissionPolicy, c Claims) (junctor.User, error) {
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
	groups := a.GroupsOf(c)
	hasNewRole, hasNewGroups := len(a.RoleRules) > 0 && u.Role != role, groups != nil && !slices.Equal(u.Groups, groups)
	switch {
	case err != nil:
		return junctor.User{}, err
	case u.Tenant != a.Tenant || u.Disabled:
		return junctor.User{}, errUserDisabled()
	case hasNewRole || hasNewGroups:
		return i.ChangeUser(ctx, u.Tenant, u.ID, func(u *junctor.User) error {
			if hasNewRole {
				u.Role = role
			}
			if hasNewGroups {
				u.Groups = groups
			}
			return nil
		})
	}
	return u, nil
}

// errUserDisabled is the error for users that are deleted, disabled or of another tenant.
func errUserDisabled() error {
	return junctor.Errorf(junctor.CodeDenied, "Your account is disabled. Ask an admin to enable it.")
}

// verifiedEmail returns the e-mail address that the provider has verified, in lower case,
// or "". It returns a denied error if the domain of the address is not admitted.
func (a *AdmissionPolicy) verifiedEmail(c Claims) (string, error) {
	email, _ := c.Values["email"].(string)
	if verified, _ := c.Values["email_verified"].(bool); !verified {
		email = ""
	}
	email = strings.ToLower(email)
	if slices.Contains(a.Domains, "*") || len(a.Domains) == 0 {
		return email, nil
	}
	at := strings.LastIndexByte(email, '@')
	if at < 0 || !slices.ContainsFunc(a.Domains, func(d string) bool { return strings.EqualFold(d, email[at+1:]) }) {
		return "", junctor.Errorf(junctor.CodeDenied, "Your e-mail domain is not allowed, or %s has not verified your e-mail address. Ask an admin.", a.Name)
	}
	return email, nil
}

// resolveRole returns the strongest role that the rules give to the person, or the
// default role. It returns a denied error if there are rules and none matches.
func (a *AdmissionPolicy) resolveRole(c Claims) (junctor.UserRole, error) {
	strongest := a.DefaultRole
	for _, rule := range a.RoleRules {
		if claimHasValue(c.Values[rule.Claim], rule.Value) && isStrongerRole(rule.Role, strongest) {
			strongest = rule.Role
		}
	}
	if strongest == "" && len(a.RoleRules) > 0 {
		return "", junctor.Errorf(junctor.CodeDenied, "The claims from %s match no role rule. Ask an admin for a role.", a.Name)
	}
	return strongest, nil
}

// isStrongerRole reports whether role a has more rights than role b. Every role is
// stronger than "".
func isStrongerRole(a, b junctor.UserRole) bool {
	roles := junctor.UserRoles() // strongest first
	return b == "" || slices.Index(roles, a) < slices.Index(roles, b)
}

// claimHasValue reports whether a claim is the value, or a list that contains it.
func claimHasValue(claim any, value string) bool {
	list, isList := claim.([]any)
	return claim == value || isList && slices.Contains(list, any(value))
}

// admitNewcomer finds or creates the user of a person who signs in for the first time,
// and links the two.
func (i *Identity) admitNewcomer(ctx context.Context, a AdmissionPolicy, c Claims, email string, role junctor.UserRole) (junctor.User, error) {
	name := email
	if name == "" && a.CreateUsers {
		name, _ = c.Values["preferred_username"].(string)
	}
	if name == "" {
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "%s has not verified your e-mail address, so no user can be matched. Ask an admin.", a.Name)
	}
	u, err := i.UserByName(ctx, a.Tenant, name)
	switch {
	case err == nil:
		// A user is claimed by a verified address, and only once: an address
		// that was reassigned to another person must not open the account of
		// its previous owner.
		linked, err := i.IsUserLinked(ctx, u.Tenant, u.ID, a.Issuer)
		if err != nil {
			return junctor.User{}, err
		}
		if email == "" || linked {
			return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "The user %s already exists, and %s does not identify you as that user. Ask an admin.", name, a.Name)
		}
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return junctor.User{}, err
	case !a.CreateUsers:
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "The user %s does not exist. Ask an admin to add you.", name)
	case role == "":
		return junctor.User{}, junctor.Errorf(junctor.CodeDenied, "New users receive no role by default. Ask an admin to add you.")
	default:
		if u, err = i.CreateUser(ctx, a.Tenant, NewUser{Name: name, Role: role}); err != nil {
			return junctor.User{}, err
		}
	}
	return u, i.LinkUser(ctx, u.Tenant, u.ID, a.Issuer, c.Subject)
}
