package a2ui

import "fmt"

// Ids of the catalogues that are known from the start.
const (
	BankingCatalog = "https://aibank.local/catalogs/banking-v1.json"
	MapsCatalog    = "https://aibank.local/catalogs/googlemaps-v1.json"
	AppsCatalog    = "https://aibank.local/catalogs/mcp-v1.json"
)

// BasicCatalog is the id of A2UI's own catalogue in a version.
func BasicCatalog(v Version) string {
	switch v {
	case V08:
		return "https://a2ui.org/specification/v0_8/standard_catalog_definition.json"
	case V10:
		return "https://a2ui.org/specification/v1_0/catalogs/basic/catalog.json"
	case V09:
	}
	return "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"
}

// Builtin is what is known from the start.
func Builtin() *Catalogs {
	c, err := NewCatalogs(basic(), banking(), places(), apps())
	if err != nil {
		return &Catalogs{} // a test holds that they fit together
	}
	return c
}

func req(name string, kind Kind) Property { return Property{Name: name, Kind: kind, Required: true} }

func opt(name string, kind Kind) Property { return Property{Name: name, Kind: kind} }

func choice(name string, words ...string) Property {
	return Property{Name: name, Kind: Choice, Words: words}
}

func one(name string, properties ...Property) Component {
	return Component{Name: name, Properties: properties}
}

// tell adds to a property what it is for.
func (p Property) tell(about string) Property {
	p.About = about
	return p
}

// tell adds to a component what it is for.
func (c Component) tell(about string) Component {
	c.About = about
	return c
}

// basic is A2UI's own catalogue, as v0.9 has it.
func basic() Catalog {
	align := choice("align", "start", "center", "end", "stretch")
	justify := choice("justify", "start", "center", "end", "spaceBetween", "spaceAround", "spaceEvenly", "stretch")
	checks := opt("checks", Checks)
	return Catalog{
		ID: BasicCatalog(V09), Basic: true,
		Aliases: []string{
			BasicCatalog(V08), BasicCatalog(V10),
			"https://a2ui.org/specification/v0_9_1/catalogs/basic/catalog.json", "https://a2ui.org/specification/v0_9/basic_catalog.json",
			"https://a2ui.org/specification/v0_9/standard_catalog_definition.json",
		},
		Components: []Component{
			one("Text", req("text", BoundText), choice("variant", "h1", "h2", "h3", "h4", "h5", "caption", "body")),
			one("Image", req("url", BoundText), choice("fit", "contain", "cover", "fill", "none", "scaleDown"),
				choice("variant", "icon", "avatar", "smallFeature", "mediumFeature", "largeFeature", "header")),
			one("Icon", Property{Name: "name", Kind: IconName, Required: true, Words: icons()}),
			one("Video", req("url", BoundText)),
			one("AudioPlayer", req("url", BoundText)),
			one("Row", req("children", Children), justify, align),
			one("Column", req("children", Children), justify, align),
			one("List", req("children", Children), choice("direction", "vertical", "horizontal"), align),
			one("Card", req("child", Child)),
			one("Tabs", req("tabs", TabList)),
			one("Modal", req("trigger", Child), req("content", Child)),
			one("Divider", choice("axis", "horizontal", "vertical")),
			one("Button", req("child", Child), choice("variant", "default", "primary", "borderless"), req("action", OnAction), checks),
			one("TextField", req("label", BoundText), opt("value", BoundText), choice("variant", "longText", "number", "shortText", "obscured"), opt("validationRegexp", PlainText), checks),
			one("CheckBox", req("label", BoundText), req("value", BoundFlag), checks),
			one("ChoicePicker", opt("label", BoundText), choice("variant", "multipleSelection", "mutuallyExclusive"), req("options", OptionList), req("value", BoundTexts),
				choice("displayStyle", "checkbox", "chips"), opt("filterable", PlainFlag), checks),
			one("Slider", opt("label", BoundText), opt("min", PlainNumber), req("max", PlainNumber), req("value", BoundNumber), checks),
			one("DateTimeInput", req("value", BoundText), opt("enableDate", PlainFlag), opt("enableTime", PlainFlag), opt("min", BoundDate), opt("max", BoundDate), opt("label", BoundText), checks),
		},
	}
}

// banking is what a bank shows.
func banking() Catalog {
	name := func(about string) Property { return req("name", BoundText).tell(about) }
	amount := func(p string, about string) Property { return opt(p, BoundValue).tell(about) }
	currency := opt("currency", BoundText).tell("The currency of its amounts, by its code of three letters, such as GBP. Without it, amounts are shown as plain numbers.")
	balance := req("balance", BoundValue).tell("The balance: a number, or a text that is one, below zero where money is owed. A text that is no number is shown as it is.")
	number := opt("number", BoundText).tell("The number of the account, as it is to be shown, such as •••• 4471.")
	kind := opt("type", BoundText).tell("The kind of account: current, savings, credit or mortgage. It chooses the icon.")
	pressed := "An event that is sent when %s is pressed. Its context gets the id of it as id, unless the action gives one."
	return Catalog{
		ID: BankingCatalog, Title: "Banking", About: "Accounts, cards, a mortgage, savings, and what moved on them.",
		Components: []Component{
			one("AccountCard", name("The name of the account."), balance, opt("accountId", BoundText).tell("The id of the account, for the action."), number, kind, currency,
				opt("action", OnAction).tell(fmt.Sprintf(pressed, "the card"))).tell("One account in a line: its name, kind and balance."),
			one("AccountOverview", req("accounts", BoundValue).tell("A list of accounts. Each has name and balance, and may have id, type, number and currency."),
				opt("title", BoundText).tell("What stands above the sum."), amount("total", "The sum. Without it, the balances are added up."), currency,
				opt("action", OnAction).tell(fmt.Sprintf(pressed, "an account"))).tell("Several accounts with their sum."),
			one("AccountDetail", name("The name of the account."), balance, number, opt("sortCode", BoundText).tell("The sort code."), kind, amount("available", "What can be spent."),
				amount("overdraft", "How far the account may be overdrawn."), currency).tell("One account with its details."),
			one("TransactionList", req("items", BoundValue).tell("A list of transactions. Each has date (year-month-day), description and amount, and may have id, type (debit or credit) and currency."),
				opt("title", BoundText).tell("What stands above the list."), currency, opt("empty", BoundText).tell("What is said where the list is empty."),
				opt("action", OnAction).tell(fmt.Sprintf(pressed, "a transaction"))).tell("Transactions, a line for each."),
			one("CreditCardSummary", name("The name of the card."), req("balance", BoundValue).tell("What is owed."), opt("number", BoundText).tell("The masked number of the card."),
				amount("limit", "The credit limit. With it, a bar shows how much of it is used."), amount("available", "The credit that is left. Without it, it is the limit less the balance."),
				amount("minimumPayment", "The least that has to be paid."), opt("dueDate", BoundText).tell("The day by which it has to be paid, as year-month-day."), currency).tell("A credit card: what is owed, what is left, and when it is due."),
			one("MortgageDetail", req("balance", BoundValue).tell("What is still owed."), opt("name", BoundText).tell("The name of the mortgage."), opt("property", BoundText).tell("The address of the property."),
				amount("rate", "The interest rate in percent a year."), opt("rateType", BoundText).tell("The kind of rate, such as: fixed until June 2028."), amount("monthlyPayment", "The monthly payment."),
				opt("nextPayment", BoundText).tell("The day of the next payment, as year-month-day."), opt("endDate", BoundText).tell("The day on which the term ends, as year-month-day."),
				opt("term", BoundText).tell("The term in words, where there is no endDate."), currency).tell("A mortgage with its payments and rate."),
			one("SavingsSummary", name("The name of the savings."), balance, number, amount("rate", "The interest rate in percent a year."), amount("interest", "The interest that was earned."),
				amount("goal", "The sum that is saved for."), currency).tell("Savings with their interest and goal."),
		},
	}
}

// places is a place on a map.
func places() Catalog {
	return Catalog{
		ID: MapsCatalog, Namespace: "googlemaps", Title: "Maps", About: "A place on a map.",
		Components: []Component{one("googlemaps:MapView",
			req("latitude", BoundNumber).tell("The latitude in degrees, from -90 to 90."), req("longitude", BoundNumber).tell("The longitude in degrees, from -180 to 180."),
			opt("label", BoundText).tell("What stands at the marker."), opt("zoom", PlainNumber).tell("The zoom level at which the map opens, from 1 to 19; 15 without it.")).
			tell("A map with a marker at one place.")},
	}
}

// AppFrame is the component that is an App.
const AppFrame = "mcp:AppFrame"

// apps is the page that a tool brings, in a frame: of a server that is connected
// here, or at an address. Where a fallback is named, the page is shown only if it is
// approved, begins in time and does not fail; else the fallback is.
func apps() Catalog {
	return Catalog{
		ID: AppsCatalog, Namespace: "mcp", Title: "MCP Apps", About: "Pages that tools of MCP servers bring.",
		Components: []Component{
			one(AppFrame, opt("server", PlainText).tell("The id of the server at this instance."), opt("mcpEndpointUrl", PlainText).tell("The address of the server, for other clients."),
				req("resourceUri", PlainText).tell("The URI of the page, which begins with ui://."), req("toolName", PlainText).tell("The tool whose page it is, by the server's own name."),
				opt("toolInput", BoundObject).tell("The arguments that the page is given."),
				opt("fallback", Child).tell("The component that is drawn while the App is not shown: until it has begun, where it is not approved or has not begun within 3 seconds, and when it fails.")).
				tell("The page of an MCP App, in a sandboxed frame."),
		},
	}
}

func icons() []string {
	return []string{
		"accountCircle", "add", "arrowBack", "arrowForward", "attachFile", "calendarToday", "call", "camera", "check", "close", "delete", "download", "edit", "event", "error",
		"fastForward", "favorite", "favoriteOff", "folder", "help", "home", "info", "locationOn", "lock", "lockOpen", "mail", "menu", "moreVert", "moreHoriz", "notificationsOff",
		"notifications", "pause", "payment", "person", "phone", "photo", "play", "print", "refresh", "rewind", "search", "send", "settings", "share", "shoppingCart", "skipNext",
		"skipPrevious", "star", "starHalf", "starOff", "stop", "upload", "visibility", "visibilityOff", "volumeDown", "volumeMute", "volumeOff", "volumeUp", "warning",
	}
}
