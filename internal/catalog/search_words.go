package catalog

import (
	"bytes"
	"strings"
)

// action is a set of things that a tool does, or that a query asks for.
type action uint16

// The actions. Those of one group are close to each other: listing is nearer to
// reading than to deleting.
const (
	actionList action = 1 << iota
	actionGet
	actionSearch
	actionCreate
	actionUpdate
	actionSend
	actionRun
	actionDelete
	actionStop

	actionsReading  = actionList | actionGet | actionSearch
	actionsWriting  = actionCreate | actionUpdate | actionSend | actionRun
	actionsRemoving = actionDelete | actionStop
)

// withGroups returns all actions of the groups that a has actions of.
func (a action) withGroups() action {
	var all action
	for _, group := range []action{actionsReading, actionsWriting, actionsRemoving} {
		if a&group != 0 {
			all |= group
		}
	}
	return all
}

// searchWords are the tables of words that Search needs, made from the
// constants below once per catalog. They are read-only.
type searchWords struct {
	verbs    map[string]action   // by stem
	generic  map[string]bool     // stems of verbs that only tell the action, such as get
	weak     map[string]bool     // words that say little, such as my
	nouns    map[string]bool     // stems of nouns that also name an action, such as refund
	fillers  map[string]bool     // whole words
	synonyms map[string][]string // by stem, without the stem itself
	phrases  map[string][]string // words that replace others, by those others joined with spaces
}

// newSearchWords parses the tables.
func newSearchWords() *searchWords {
	w := &searchWords{
		verbs: map[string]action{}, generic: map[string]bool{}, weak: map[string]bool{}, nouns: map[string]bool{},
		fillers: map[string]bool{}, synonyms: map[string][]string{}, phrases: map[string][]string{},
	}
	for i, line := range strings.Split(strings.TrimSpace(genericVerbs), "\n") {
		for _, stem := range stemWords(line) {
			w.verbs[stem] |= 1 << i
			w.generic[stem] = true
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(specificVerbs), "\n") {
		for _, stem := range stemWords(line) {
			w.verbs[stem] |= 1 << i
		}
	}
	for _, stem := range stemWords(actionNouns) {
		w.nouns[stem] = true
	}
	for word := range strings.FieldsSeq(weakWords) {
		w.weak[word] = true
	}
	for word := range strings.FieldsSeq(fillerWords) {
		w.fillers[word] = true
	}
	for line := range strings.Lines(synonymGroups) {
		group := stemWords(line)
		for _, stem := range group {
			for _, other := range group {
				if other != stem {
					w.synonyms[stem] = append(w.synonyms[stem], other)
				}
			}
		}
	}
	for line := range strings.Lines(phraseWords) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " = ")
		w.phrases[from] = strings.Fields(to)
	}
	return w
}

// stemWord removes the endings of an English word, so that related forms become
// equal. The result need not be a word.
func stemWord(w []byte) string {
	w = trimPlural(w)
	for _, ending := range []string{"ing", "ed", "ment", "ly", "ion", "e"} {
		if rest, ok := bytes.CutSuffix(w, []byte(ending)); ok && len(rest) > 3 && (ending != "ion" || rest[len(rest)-1] == 't') {
			w = rest
			break
		}
	}
	w = bytes.TrimSuffix(w, []byte("e"))
	if n := len(w); n > 3 && w[n-1] == w[n-2] { // stopping becomes stop
		w = w[:n-1]
	}
	return string(w)
}

// stemWords returns the stems of words that are separated by spaces.
func stemWords(words string) []string {
	all := strings.Fields(words)
	for i, w := range all {
		all[i] = stemWord([]byte(w))
	}
	return all
}

// isPlural reports whether a word looks like an English plural.
func isPlural(word string) bool {
	if len(word) < 4 || word[len(word)-1] != 's' {
		return false
	}
	switch word[len(word)-2] {
	case 's', 'u', 'i':
		return false
	}
	return true
}

// isTypo reports whether two stems differ by one letter: another, a missing or
// additional one, or two that changed places. The first letter must be equal.
func isTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 4 || len(b)-len(a) > 1 || a[0] != b[0] {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return false // they are equal
	}
	return a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// fillerWords say nothing about the tool that is searched.
const fillerWords = `a an the of to in on for from with and or is are was were be been being by it its this that these those them they
i you we us he she him her our your their ours do does did has have had can could should would will may might must
please want need like how where when yet much many any some there here into under about out up down as at if only also just
let lets so than then now right away again very really existing certain given specific particular someone somebody anyone
les des der die das ein eine einen le la de du un une und et`

// weakWords say little about the tool that is searched.
const weakWords = "my me mine own current today latest recent detail details info information one name names"

// genericVerbs tell the action and nothing else. Each line has the verbs of one
// action, in the order of the constants.
const genericVerbs = `list all show enumerate browse which who what display see view print return every auflisten anzeigen lister afficher zeige
get read fetch retrieve show open view display see return describe detail info information inspect lesen holen tell give what obtenir
search find lookup look query locate suchen finden chercher
create new add make write generate define put insert prepare set erstellen anlegen creer ajouter
update change edit set modify replace adjust put patch alter correct aendern modifier configure
send post write senden schicken envoyer
run execute start perform trigger do
delete remove take drop erase destroy discard eliminate clear loeschen entfernen supprimer effacer
stop end cancel abort`

// specificVerbs name an action and are also words of a tool's subject. The
// lines are those of genericVerbs.
const specificVerbs = `history timeline
download export preview check count load compare calculate compute
browse
open register issue publish upload save store invite schedule record provision launch initiate submit generate subscribe book fork star follow pin tag label comment reply react file attach build sign import buy enroll
rename resize move scale upgrade promote mark assign unassign archive unarchive enable disable lock unlock protect approve reject accept decline merge transfer migrate rotate reset close reopen restore extend respond attach detach confirm finalize resume pause mute toggle convert block unblock join hide
share notify email message broadcast mail reply forward deliver announce remind tell
dispatch launch rerun re restart reboot deploy redeploy rebuild retry rollback charge pay capture process collect purge sync render test invoke call
uninstall detach leave kick unpin unstar unfollow trash purge unregister untag void unsubscribe revoke expel unassign unlink
revoke void withdraw terminate expire close disable deactivate kill halt suspend pause dismiss quit shutdown interrupt`

// actionNouns name a thing and also the action that creates it: a query such as
// "refund a payment" asks for it.
const actionNouns = "comment reply fork review react label pin star follow refund charge transfer invoice tag bookmark schedule remind release deploy email message subscribe quote pay payout order report"

// synonymGroups are words that people use for one another, each line a group.
const synonymGroups = `cancel stop abort end terminate
disable off deactivate
run trigger dispatch execute launch start
send post write publish share broadcast
cancel delete end
change rename edit update
store save upload
authenticated me my mine own whoami identity
user person people member account
people person member
repository repo
organization org company
team workspace
pull pr
cost spend spent bill price charge owe
bill billing invoice
permission access right
issue ticket bug
approve accept review
review reviewer
protect secure protection
deploy release rollout
log output
message comment reply
message announcement dm
traffic view visit
email mail
mail inbox mailbox email
image picture photo screenshot
file content document
remain left limit free available
follow follower
star stargazer
invite invitation guest
register registration
assign assignee
count number
customer client buyer kunde kunden shopper
refund reimburse money
payment pay charge
payment money
subscription subscribe plan subscriber
coupon discount voucher promo
promo promotion
code promotion
dispute chargeback
invoice rechnung facture
message nachricht
file datei fichier
server machine vm droplet instance
vm virtual machine
kubernetes k8s
database db postgre postgresql mysql sql
folder directory
ip address
dns domain record
key credential
account profile
channel conversation
dm direct conversation
conversation thread
meeting appointment event
slot time free
calendar event appointment
calendar agenda
certificate tls ssl
network vpc
storage volume disk
disk filesystem
tag label
ci workflow action job pipeline
diff compare change
setting configuration option
status state presence
online presence
mute snooze dnd
modal dialog view
member membership
administrator admin
secret password credential token
vulnerability vulnerable dependabot advisory
forecast tomorrow
temperature warm cold current
pollution quality
warning alert
coordinate geocode
city place location town
page website web site
url address link
task todo
column field
webhook hook
product article good
balance money
reserved floating static
deployment deploy
rename name
size big large
public publicly
block ban deny
fraud risk
blocklist blacklist deny
hour minute
`

// phraseWords replace several words by one that the tables know.
const phraseWords = `look up = lookup
look for = search
look through = search
looking for = search
get rid of = delete
get rid = delete
throw away = delete
tear down = delete
take down = delete
take off = remove
spin up = create
set up = create
bring up = create
stand up = create
sign up = subscribe create
turn off = disable
switch off = disable
power off = off action
shut down = stop off
turn on = enable
switch on = enable
power on = on action
call off = cancel
write off = uncollectible write off
roll back = rollback
log in = login
logged in = login access
signed in = login access
sign in = login
who am i = get authenticated whoami
who is in = list member
money back = refund
give back = refund return
pay back = refund
pay out = create payout
check out = checkout
go to = navigate open
how much = get
how many = get count
how big = get size
`
