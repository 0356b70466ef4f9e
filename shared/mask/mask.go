// Package mask replaces personal data in free text by a placeholder that says of which kind it was: [email],
// [phone], [national_id], [card].
//
// What is replaced is found by its form and, where there are some, by its check digits:
//
//   - email: an address with a full domain;
//   - phone: international numbers with + or 00, numbers with a trunk 0 (Sweden, Finland and others), the
//     eight digits of Norway and Denmark, and the 3-3-4 digits of North America where not only spaces part them;
//   - national_id: Norway (fødselsnummer, D-number and the like: both check digits), Sweden (personnummer and
//     samordningsnummer: date and check digit), Denmark (CPR: date and check digit, or the date where it is
//     written with its dash, since newer ones have no check digit), Iceland (kennitala of a person: date and
//     check digit), Finland (henkilötunnus: date and check character);
//   - card: 13 to 19 digits whose check digit fits (Luhn), as one number or in a card's groups.
//
// Digits are those of any script, and spaces, dashes, dots and brackets may part them where people write so.
// Numbers that merely have such a form are replaced too: an article number of eight digits looks like a phone,
// and one in ten numbers of thirteen digits passes for a card. A name is not found, nor is an address of a house.
package mask

import "strings"

// A Kind is a kind of personal data. The texts are those of configuration files and of placeholders.
type Kind string

// The kinds.
const (
	Email      Kind = "email"
	Phone      Kind = "phone"
	NationalID Kind = "national_id"
	Card       Kind = "card"
)

// Kinds are all kinds.
var Kinds = []Kind{Email, Phone, NationalID, Card}

// A Masker replaces some kinds; the zero Masker replaces nothing. It never changes and is safe for
// concurrent use.
type Masker struct{ email, phone, nationalID, card bool }

// New makes a Masker of these kinds. What is none of [Kinds] counts for nothing.
func New(kinds ...Kind) Masker {
	var m Masker
	for _, k := range kinds {
		switch k {
		case Email:
			m.email = true
		case Phone:
			m.phone = true
		case NationalID:
			m.nationalID = true
		case Card:
			m.card = true
		}
	}
	return m
}

// Text replaces what it finds and counts it. The same text always gives the same text, and a text that was
// masked is left as it is: nothing of the kinds is in it any more. It takes time and memory in proportion to
// the text, whatever is in it.
func (m Masker) Text(s string) (masked string, n int) {
	if m.email {
		s, n = emails(s)
	}
	if m.phone || m.nationalID || m.card {
		var more int
		s, more = m.numbers(s)
		n += more
	}
	return s, n
}

// Number masks a number of a document, which is no free text: only the whole of it can be a card or a national
// id, and an amount cannot be told from a phone. It returns the placeholder, or "" for a number that stays.
func (m Masker) Number(s string) string {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return ""
	}
	r := readRun(s, 0, 0)
	if r.n == 0 {
		return ""
	}
	switch {
	case m.card && card(&r) > 0:
		return Card.placeholder()
	case m.nationalID && nationalID(&r) > 0:
		return NationalID.placeholder()
	}
	return ""
}

func (k Kind) placeholder() string { return "[" + string(k) + "]" }

// A writer copies a text with replacements.
type writer struct {
	s    string
	b    strings.Builder
	last int // end of what was replaced last
	n    int
}

func (w *writer) replace(start, end int, k Kind) {
	w.b.WriteString(w.s[w.last:start])
	w.b.WriteString(k.placeholder())
	w.last = end
	w.n++
}

func (w *writer) done() (string, int) {
	if w.n == 0 {
		return w.s, 0
	}
	w.b.WriteString(w.s[w.last:])
	return w.b.String(), w.n
}
