package apply

import (
	"maps"
	"slices"

	"engang/shared/document"
	"engang/shared/recipe"
)

// personalParts are the parts of a provider's payloads that are known to be about a person. "*" is any
// element of a list.
var personalParts = map[string][]string{
	"calendly":     {"/payload/email", "/payload/name", "/payload/first_name", "/payload/last_name", "/payload/text_reminder_number", "/payload/questions_and_answers", "/payload/cancel_url", "/payload/reschedule_url"},
	"ghost":        {"/member"},
	"github":       {"/sender/email", "/pusher", "/head_commit/author", "/head_commit/committer", "/commits/*/author", "/commits/*/committer"},
	"gitlab":       {"/user_email", "/user/email", "/user_name", "/user/name", "/commits/*/author"},
	"intercom":     {"/data/item/email", "/data/item/phone", "/data/item/location", "/data/item/contacts", "/data/item/user", "/data/item/source/author"},
	"lemonsqueezy": {"/data/attributes/user_email", "/data/attributes/user_name", "/data/attributes/customer_email"},
	"linear":       {"/actor/email", "/actor/name", "/data/assignee/email", "/data/creator/email", "/data/user/email"},
	"mailgun":      {"/event-data/recipient", "/event-data/envelope", "/event-data/message/headers/to", "/event-data/message/headers/from", "/event-data/ip", "/event-data/geolocation", "/event-data/client-info"},
	"paypal":       {"/resource/payer", "/resource/payee", "/resource/shipping", "/resource/subscriber", "/resource/purchase_units/*/shipping"},
	"shopify":      {"/email", "/phone", "/contact_email", "/customer", "/billing_address", "/shipping_address", "/client_details", "/browser_ip", "/note", "/note_attributes", "/first_name", "/last_name", "/addresses", "/default_address"},
	"slack":        {"/user", "/event/user_profile", "/event/profile", "/authorizations"},
	"square":       {"/data/object/customer", "/data/object/payment/buyer_email_address", "/data/object/payment/billing_address", "/data/object/payment/shipping_address"},
	"stripe":       {"/data/object/billing_details", "/data/object/customer_address", "/data/object/customer_details", "/data/object/customer_email", "/data/object/customer_name", "/data/object/customer_phone", "/data/object/customer_shipping", "/data/object/email", "/data/object/phone", "/data/object/receipt_email", "/data/object/shipping"},
	"twilio":       {"/From", "/To", "/Caller", "/Called", "/FromCity", "/FromZip", "/ToCity", "/ToZip", "/CallerName", "/ForwardedFrom", "/WaId", "/ProfileName"},
	"woocommerce":  {"/billing", "/shipping", "/email", "/first_name", "/last_name", "/username", "/customer_note", "/customer_ip_address", "/customer_user_agent"},
	"wordpress":    {"/user_email", "/user", "/user_data", "/comment/comment_author_email", "/comment/comment_author_IP"},
	"zendesk":      {"/detail/requester", "/detail/email", "/detail/phone"},
}

// personal refuses fields that are known to be about a person, unless purpose and basis are said beside them.
func (c *checker) personal() {
	for _, r := range c.set.Recipes {
		senders := c.senders(r.Name)
		for _, name := range slices.Sorted(maps.Keys(r.Input.Fields)) {
			field := r.Input.Fields[name]
			if field.Personal == nil && slices.ContainsFunc(senders, func(provider string) bool { return isPersonal(provider, field) }) {
				c.faults.add(pointer("recipes", r.Name, "input", "fields", name), "the field is known to be about a person", "leave it out, or write beside it what it is for and what allows it: personal: {purpose: ..., basis: ...}")
			}
		}
	}
}

// senders are the providers whose events run a recipe.
func (c *checker) senders(name string) (providers []string) {
	for _, e := range c.set.Endpoints {
		for _, rule := range e.Events {
			if slices.Contains(rule.Recipes, name) {
				providers = append(providers, e.Provider)
			}
		}
	}
	return providers
}

// isPersonal tells whether a field takes something of a person: the part itself, something in it, or
// what it is a part of. Only what is picked counts, where something is.
func isPersonal(provider string, f recipe.Field) bool {
	if f.From == nil {
		return false
	}
	return slices.ContainsFunc(personalParts[provider], func(text string) bool {
		part, err := document.ParsePointer(text)
		if err != nil {
			return false
		}
		from := f.From.Steps()
		if len(f.Pick) == 0 {
			return overlap(from, part.Steps())
		}
		return slices.ContainsFunc(f.Pick, func(name string) bool { return overlap(picked(from, part.Steps(), name), part.Steps()) })
	})
}

// picked is the path of a picked property: of an object, or where the part is in a list, of its elements.
func picked(from, part []string, name string) []string {
	if len(part) > len(from) && part[len(from)] == "*" {
		from = append(slices.Clone(from), "*")
	}
	return append(slices.Clone(from), name)
}

// overlap tells whether one path leads into the other.
func overlap(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && a[i] != "*" && b[i] != "*" {
			return false
		}
	}
	return true
}
