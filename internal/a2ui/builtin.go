package a2ui

import "fmt"

// Ids of the built-in catalogs beside the basic one.
const (
	BankingCatalogID = "https://aibank.local/catalogs/banking-v1.json"
	MapsCatalogID    = "https://aibank.local/catalogs/googlemaps-v1.json"
	AppsCatalogID    = "https://aibank.local/catalogs/mcp-v1.json"
)

// BasicCatalogID returns the id of A2UI's own catalog in a version.
func BasicCatalogID(v Version) string {
	switch v {
	case V08:
		return "https://a2ui.org/specification/v0_8/standard_catalog_definition.json"
	case V10:
		return "https://a2ui.org/specification/v1_0/catalogs/basic/catalog.json"
	case V09:
	}
	return "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"
}

// BuiltinCatalogs returns the built-in catalogs.
func BuiltinCatalogs() *Catalogs {
	c, err := NewCatalogs(newBasicCatalog(), newBankingCatalog(), newMapsCatalog(), newAppsCatalog())
	if err != nil {
		return &Catalogs{} // cannot happen: a test checks that they do not conflict
	}
	return c
}

// requiredProp returns a property that a component must have.
func requiredProp(name string, kind Kind) Property {
	return Property{Name: name, Kind: kind, Required: true}
}

// optionalProp returns a property that a component may have.
func optionalProp(name string, kind Kind) Property { return Property{Name: name, Kind: kind} }

// choiceProp returns an optional property with a fixed set of values.
func choiceProp(name string, words ...string) Property {
	return Property{Name: name, Kind: Choice, Choices: words}
}

// newComponent returns a component with its properties.
func newComponent(name string, properties ...Property) Component {
	return Component{Name: name, Properties: properties}
}

// withAbout returns the property with its description.
func (p Property) withAbout(about string) Property {
	p.Description = about
	return p
}

// withAbout returns the component with its description.
func (c Component) withAbout(about string) Component {
	c.Description = about
	return c
}

// newBasicCatalog returns A2UI's own catalog, in the form of v0.9.
func newBasicCatalog() Catalog {
	align := choiceProp("align", "start", "center", "end", "stretch")
	justify := choiceProp("justify", "start", "center", "end", "spaceBetween", "spaceAround", "spaceEvenly", "stretch")
	checks := optionalProp("checks", Checks)
	return Catalog{
		ID: BasicCatalogID(V09), Basic: true,
		Aliases: []string{
			BasicCatalogID(V08), BasicCatalogID(V10),
			"https://a2ui.org/specification/v0_9_1/catalogs/basic/catalog.json", "https://a2ui.org/specification/v0_9/basic_catalog.json",
			"https://a2ui.org/specification/v0_9/standard_catalog_definition.json",
		},
		Components: []Component{
			newComponent("Text", requiredProp("text", BoundText), choiceProp("variant", "h1", "h2", "h3", "h4", "h5", "caption", "body")),
			newComponent("Image", requiredProp("url", BoundText), choiceProp("fit", "contain", "cover", "fill", "none", "scaleDown"),
				choiceProp("variant", "icon", "avatar", "smallFeature", "mediumFeature", "largeFeature", "header")),
			newComponent("Icon", Property{Name: "name", Kind: IconName, Required: true, Choices: iconNames()}),
			newComponent("Video", requiredProp("url", BoundText)),
			newComponent("AudioPlayer", requiredProp("url", BoundText)),
			newComponent("Row", requiredProp("children", Children), justify, align),
			newComponent("Column", requiredProp("children", Children), justify, align),
			newComponent("List", requiredProp("children", Children), choiceProp("direction", "vertical", "horizontal"), align),
			newComponent("Card", requiredProp("child", Child)),
			newComponent("Tabs", requiredProp("tabs", TabList)),
			newComponent("Modal", requiredProp("trigger", Child), requiredProp("content", Child)),
			newComponent("Divider", choiceProp("axis", "horizontal", "vertical")),
			newComponent("Button", requiredProp("child", Child), choiceProp("variant", "default", "primary", "borderless"), requiredProp("action", OnAction), checks),
			newComponent("TextField", requiredProp("label", BoundText), optionalProp("value", BoundText), choiceProp("variant", "longText", "number", "shortText", "obscured"), optionalProp("validationRegexp", PlainText), checks),
			newComponent("CheckBox", requiredProp("label", BoundText), requiredProp("value", BoundBool), checks),
			newComponent("ChoicePicker", optionalProp("label", BoundText), choiceProp("variant", "multipleSelection", "mutuallyExclusive"), requiredProp("options", OptionList), requiredProp("value", BoundTexts),
				choiceProp("displayStyle", "checkbox", "chips"), optionalProp("filterable", PlainBool), checks),
			newComponent("Slider", optionalProp("label", BoundText), optionalProp("min", PlainNumber), requiredProp("max", PlainNumber), requiredProp("value", BoundNumber), checks),
			newComponent("DateTimeInput", requiredProp("value", BoundText), optionalProp("enableDate", PlainBool), optionalProp("enableTime", PlainBool), optionalProp("min", BoundDate), optionalProp("max", BoundDate), optionalProp("label", BoundText), checks),
		},
	}
}

// newBankingCatalog returns the components of the bank pack.
func newBankingCatalog() Catalog {
	name := func(about string) Property { return requiredProp("name", BoundText).withAbout(about) }
	amount := func(p string, about string) Property { return optionalProp(p, BoundValue).withAbout(about) }
	currency := optionalProp("currency", BoundText).withAbout("The currency of the amounts, as a code of three letters such as GBP. By default, amounts are plain numbers.")
	balance := requiredProp("balance", BoundValue).withAbout("The balance: a number, or a text with a number. It is negative if money is owed. Other text is shown unchanged.")
	number := optionalProp("number", BoundText).withAbout("The account number as it is shown, such as •••• 4471.")
	kind := optionalProp("type", BoundText).withAbout("The type of account: current, savings, credit or mortgage. It selects the icon.")
	pressed := "The event that is sent when %s is pressed. Its context contains the id of the pressed item as id, unless the action sets one."
	return Catalog{
		ID: BankingCatalogID, Title: "Banking", Description: "Accounts, cards, mortgages, savings and transactions.",
		Components: []Component{
			newComponent("AccountCard", name("The name of the account."), balance, optionalProp("accountId", BoundText).withAbout("The id of the account, sent with the action."), number, kind, currency,
				optionalProp("action", OnAction).withAbout(fmt.Sprintf(pressed, "the card"))).withAbout("One account in one line: name, type and balance."),
			newComponent("AccountOverview", requiredProp("accounts", BoundValue).withAbout("A list of accounts. Each has name and balance, and may have id, type, number and currency."),
				optionalProp("title", BoundText).withAbout("The title above the total."), amount("total", "The total. By default, the sum of the balances."), currency,
				optionalProp("action", OnAction).withAbout(fmt.Sprintf(pressed, "an account"))).withAbout("Several accounts with their total."),
			newComponent("AccountDetail", name("The name of the account."), balance, number, optionalProp("sortCode", BoundText).withAbout("The sort code."), kind, amount("available", "The amount that can be spent."),
				amount("overdraft", "The overdraft limit."), currency).withAbout("One account with its details."),
			newComponent("TransactionList", requiredProp("items", BoundValue).withAbout("A list of transactions. Each has date (year-month-day), description and amount, and may have id, type (debit or credit) and currency."),
				optionalProp("title", BoundText).withAbout("The title above the list."), currency, optionalProp("empty", BoundText).withAbout("The text for an empty list."),
				optionalProp("action", OnAction).withAbout(fmt.Sprintf(pressed, "a transaction"))).withAbout("Transactions, one per line."),
			newComponent("CreditCardSummary", name("The name of the card."), requiredProp("balance", BoundValue).withAbout("The amount owed."), optionalProp("number", BoundText).withAbout("The masked number of the card."),
				amount("limit", "The credit limit. If it is set, a bar shows how much is used."), amount("available", "The remaining credit. By default, the limit minus the balance."),
				amount("minimumPayment", "The minimum payment."), optionalProp("dueDate", BoundText).withAbout("The due date, as year-month-day."), currency).withAbout("A credit card: the amount owed, the remaining credit and the due date."),
			newComponent("MortgageDetail", requiredProp("balance", BoundValue).withAbout("The remaining debt."), optionalProp("name", BoundText).withAbout("The name of the mortgage."), optionalProp("property", BoundText).withAbout("The address of the property."),
				amount("rate", "The interest rate in percent per year."), optionalProp("rateType", BoundText).withAbout("The type of rate, such as: fixed until June 2028."), amount("monthlyPayment", "The monthly payment."),
				optionalProp("nextPayment", BoundText).withAbout("The date of the next payment, as year-month-day."), optionalProp("endDate", BoundText).withAbout("The date on which the term ends, as year-month-day."),
				optionalProp("term", BoundText).withAbout("The term as text, if there is no endDate."), currency).withAbout("A mortgage with its payments and rate."),
			newComponent("SavingsSummary", name("The name of the savings."), balance, number, amount("rate", "The interest rate in percent per year."), amount("interest", "The interest earned."),
				amount("goal", "The savings goal."), currency).withAbout("Savings with their interest and goal."),
		},
	}
}

// newMapsCatalog returns the catalog with the map component.
func newMapsCatalog() Catalog {
	return Catalog{
		ID: MapsCatalogID, Namespace: "googlemaps", Title: "Maps", Description: "A place on a map.",
		Components: []Component{newComponent("googlemaps:MapView",
			requiredProp("latitude", BoundNumber).withAbout("The latitude in degrees, from -90 to 90."), requiredProp("longitude", BoundNumber).withAbout("The longitude in degrees, from -180 to 180."),
			optionalProp("label", BoundText).withAbout("The label of the marker."), optionalProp("zoom", PlainNumber).withAbout("The zoom level at which the map opens, from 1 to 19. By default, 15.")).
			withAbout("A map with a marker at one place.")},
	}
}

// AppFrameComponent is the name of the component that shows an App view.
const AppFrameComponent = "mcp:AppFrame"

// newAppsCatalog returns the catalog with the component for App views, of a server
// that is connected here or at a URL. If the component names a fallback, the view
// is shown only if it is approved, starts in time and does not fail; otherwise the
// fallback is drawn.
func newAppsCatalog() Catalog {
	return Catalog{
		ID: AppsCatalogID, Namespace: "mcp", Title: "MCP Apps", Description: "Pages of MCP Apps.",
		Components: []Component{
			newComponent(AppFrameComponent, optionalProp("server", PlainText).withAbout("The id of the server at this instance."), optionalProp("mcpEndpointUrl", PlainText).withAbout("The URL of the server, for other clients."),
				requiredProp("resourceUri", PlainText).withAbout("The URI of the page, which begins with ui://."), requiredProp("toolName", PlainText).withAbout("The tool that the page belongs to, by its name at the server."),
				optionalProp("toolInput", BoundObject).withAbout("The arguments that the page receives."),
				optionalProp("fallback", Child).withAbout("The component that is drawn in place of the App: until the App has started, if it is not approved, if it does not start within 3 seconds, and if it fails.")).
				withAbout("The page of an MCP App, in a sandboxed frame."),
		},
	}
}

// iconNames returns the icons of the basic catalog in v0.9.
func iconNames() []string {
	return []string{
		"accountCircle", "add", "arrowBack", "arrowForward", "attachFile", "calendarToday", "call", "camera", "check", "close", "delete", "download", "edit", "event", "error",
		"fastForward", "favorite", "favoriteOff", "folder", "help", "home", "info", "locationOn", "lock", "lockOpen", "mail", "menu", "moreVert", "moreHoriz", "notificationsOff",
		"notifications", "pause", "payment", "person", "phone", "photo", "play", "print", "refresh", "rewind", "search", "send", "settings", "share", "shoppingCart", "skipNext",
		"skipPrevious", "star", "starHalf", "starOff", "stop", "upload", "visibility", "visibilityOff", "volumeDown", "volumeMute", "volumeOff", "volumeUp", "warning",
	}
}
