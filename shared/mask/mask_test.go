package mask_test

import (
	"strings"
	"testing"

	"engang/shared/mask"
)

// Numbers and addresses below are made up, or published for tests; their check digits fit.
var found = []struct{ name, text, want string }{
	{"an address", "Write to ola.nordmann@example.com, please.", "Write to [email], please."},
	{"an address at the beginning and one at the end", "a@b.no c@d.no", "[email] [email]"},
	{"an address with a plus and digits", "ola+shop.91234567@mail.example.co.uk!", "[email]!"},
	{"an address in a link", `<a href="mailto:ola@example.com?subject=x">`, `<a href="mailto:[email]?subject=x">`},
	{"an address in a query", "?user=ola@example.no&x=1", "?user=[email]&x=1"},
	{"an address in stars", "**ola@example.no**", "**[email]**"},
	{"an address with letters of the north", "kjære.bjørn@blåbær.example.no.", "[email]."},
	{"an address with a wide sign and dots of the east", "ola＠例え。example．com", "[email]"},
	{"an address with a joiner in it", "ola@exam\u200dple.com", "[email]"},
	{"an address of a domain in another script", "ola@пример.рф og ola@example.xn--p1ai/x", "[email] og [email]/x"},
	{"an address and the name of a user behind it", "a@b.no@c.no", "[email]@c.no"},
	{"addresses without a space between", "a@b.no.c@d.no", "[email].[email]"},
	{"an address with digits behind it", "a@b.no91234567", "[email][phone]"},
	{"an address with a phone behind its domain", "a@b.no-91234567", "[email]-[phone]"},
	{"a name and a password in an address", "https://ola:geheim@example.com/x", "https://ola:[email]/x"},

	{"a phone of Norway", "Ring 912 34 567.", "Ring [phone]."},
	{"a phone of Norway in a row", "Ring 91234567 nå", "Ring [phone] nå"},
	{"a phone of Norway in pairs", "22 33 44 56 / 22-33-44-56 / 22.33.44.56", "[phone] / [phone] / [phone]"},
	{"a phone of Norway with its country", "+47 912 34 567 eller (+47) 22334455 eller 0047 22 33 44 55", "[phone] eller [phone] eller [phone]"},
	{"a phone with its country, and a number behind it", "+4791234567 2 stk", "[phone] 2 stk"},
	{"a phone right behind a word, with its country", "tlf+4791234567kl", "tlf[phone]kl"},
	{"a phone with a bracket that is left out abroad", "+46 (0)70-123 45 67", "[phone]"},
	{"phones of Sweden", "070-123 45 67, 0701234567, 08-12 34 56, (08) 123 456 78", "[phone], [phone], [phone], [phone]"},
	{"phones of Finland", "040 123 4567 / +358 40 1234567 / 040-123-4567", "[phone] / [phone] / [phone]"},
	{"a phone of Denmark", "Tlf.: 20 12 34 57", "Tlf.: [phone]"},
	{"a phone of Iceland", "+354 555 1234", "[phone]"},
	{"a phone of France", "01 23 45 67 89", "[phone]"},
	{"phones of North America", "(555) 234-5678, 555.234.5678, +1 555 234 5678", "[phone], [phone], [phone]"},
	{"a phone with hard spaces", "912\u00a034\u202f567", "[phone]"},
	{"two phones with a dash between", "+46 70 123 45 67 - 08 123 456 78", "[phone] - [phone]"},
	{"a phone in wide digits", "９１２３４５６７", "[phone]"},
	{"a phone with joiners", "912\u200d34567", "[phone]"},

	{"an id of Norway", "Fnr. 01010750160.", "Fnr. [national_id]."},
	{"an id of Norway in two parts", "010107 50160 og 010107-50160", "[national_id] og [national_id]"},
	{"an id of Norway with dots", "01.01.07 50160", "[national_id]"},
	{"an id of Norway right behind a word", "fnr01010750160, fnr010107 50160", "fnr[national_id], fnr[national_id]"},
	{"a D-number", "41010700130", "[national_id]"},
	{"an id of Sweden", "811228-9874, 198112289874, 19811228-9874, 8112289874, 811228+9874", "[national_id], [national_id], [national_id], [national_id], [national_id]"},
	{"who is only staying in Sweden", "701063-2391", "[national_id]"},
	{"an id of Denmark", "0707614285 / 070761-4285", "[national_id] / [national_id]"},
	{"an id of Denmark without check digit", "010107-4444", "[national_id]"},
	{"an id of Iceland", "1201743399 og 120174-3399", "[national_id] og [national_id]"},
	{"an id of Finland", "131052-308T, 131052A308T.", "[national_id], [national_id]."},
	{"an id of Finland with digits behind it", "131052-308T4111111111111111", "[national_id][card]"},

	{"a card", "4111111111111111", "[card]"},
	{"a card in groups", "Kort 4111 1111 1111 1111, utløp 12/29", "Kort [card], utløp 12/29"},
	{"a card with dashes", "5500-0055-5555-5559", "[card]"},
	{"a card of fifteen digits", "3782 822463 10005 / 378282246310005", "[card] / [card]"},
	{"cards of thirteen, fourteen and nineteen digits", "4222222222222 3056 930902 5904 6304000000000000000", "[card] [card] [card]"},
	{"cards right behind a word", "Visa4111111111111111, Visa4111.1111.1111.1111", "Visa[card], Visa[card]"},
	{"a card behind a number", "2 4111 1111 1111 1111", "2 [card]"},
	{"cards in a row", "17,4111111111111111,4012888888881881", "17,[card],[card]"},
	{"a card in the digits of others", "٤١١١١١١١١١١١١١١١ ४१११११११११११११११ 𝟜𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙", "[card] [card] [card]"},

	{"all at once", "Ola (ola@example.com, 912 34 567, 01010750160) betalte med 4111 1111 1111 1111.", "Ola ([email], [phone], [national_id]) betalte med [card]."},
}

func TestTextIsMasked(t *testing.T) {
	m := mask.New(mask.Kinds...)
	for _, tt := range found {
		t.Run(tt.name, func(t *testing.T) {
			got, n := m.Text(tt.text)
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if want := strings.Count(tt.want, "["); n != want {
				t.Errorf("%d pieces, want %d", n, want)
			}
		})
	}
}

func TestTextIsLeft(t *testing.T) {
	m := mask.New(mask.Kinds...)
	for _, tt := range []struct{ name, text string }{
		{"nothing", ""},
		{"words", "Strikket genser av merinoull – 100 % ull"},
		{"measures", "200 x 300 x 40 mm, 0.35 kg, 1,5 l, 12.50 kr, 25 000 000,00 kr"},
		{"sizes", "36 38 40 42 44, 36 37 38 39 40 41 42 43, 10-20-30-40"},
		{"years", "2019 2020, 2023-2024, 1999–2026"},
		{"dates", "17.03.2026 08.15, 2026-03-17 12.30, 01-02-2026 12, 01 02 2026"},
		{"hours", "08.00-16.00, 09-17 10-15, 08:00–16:00, 10-18 10-16"},
		{"a long fraction", "3.14159265, 0.25000000, 0,99999999"},
		{"an article number with letters", "AB12345678, 91234567X, EAN7038010009458"},
		{"a number of seven digits and one of nine", "1234567, 912345678, 123456789"},
		{"a number of twenty digits", "41111111111111111111"},
		{"digits that nearly fit", "4111111111111112, 31129900184, 811228-9875x, 8112289875, 131052-308U"},
		{"groups of no card", "411 1111 1111 11111, 41111 11111 11111 1, 4111/1111/1111/1111"},
		{"a date with a number behind it, in a word", "ref010107-4444, 010107-4444x, 131052-308Tx"},
		{"an identifier of a machine", "550e8400-e29b-41d4-a716-446655440000"},
		{"a number of the book trade", "978-82-15-01234-5"},
		{"an address of a machine", "192.168.10.20, root@localhost, ola@10.0.0.1"},
		{"names of users", "@ola, @ola.nordmann, ola@, @example.com, 2 stk @ 4.50"},
		{"placeholders", "[email] [phone] [national_id] [card]"},
		{"bytes that are no text", "\xff@\xfe.no \xff12"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, n := m.Text(tt.text); got != tt.text || n != 0 {
				t.Errorf("%q and %d, want it as it was: %q", got, n, tt.text)
			}
		})
	}
}

func TestOnlyTheKindsThatWereAskedForAreMasked(t *testing.T) {
	const text = "ola@example.com 912 34 567 31129900183 4111111111111111"
	for _, tt := range []struct {
		kinds []mask.Kind
		want  string
	}{
		{nil, text},
		{[]mask.Kind{"names"}, text},
		{[]mask.Kind{mask.Email}, "[email] 912 34 567 31129900183 4111111111111111"},
		{[]mask.Kind{mask.Phone}, "ola@example.com [phone] 31129900183 4111111111111111"},
		{[]mask.Kind{mask.NationalID}, "ola@example.com 912 34 567 [national_id] 4111111111111111"},
		{[]mask.Kind{mask.Card}, "ola@example.com 912 34 567 31129900183 [card]"},
	} {
		if got, _ := mask.New(tt.kinds...).Text(text); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.kinds, got, tt.want)
		}
	}
}

func TestNumberIsMaskedAsAWhole(t *testing.T) {
	all := mask.New(mask.Kinds...)
	for number, want := range map[string]string{
		"4111111111111111": "[card]", "41010700130": "[national_id]", "4111111111111112": "",
		"91234567": "", "4111111111111111.0": "", "-4111111111111111": "", "4111111111111111e1": "", "": "", "41111111111111111111": "",
	} {
		if got := all.Number(number); got != want {
			t.Errorf("%s: %q, want %q", number, got, want)
		}
	}
	if got := mask.New(mask.Email, mask.Phone).Number("4111111111111111"); got != "" {
		t.Errorf("%q, which was not asked for", got)
	}
}

// Each of these takes hours where the time grows with the square of the text.
func TestHostileTextEnds(t *testing.T) {
	const size = 1 << 20
	m := mask.New(mask.Kinds...)
	for _, piece := range []string{
		"1", "1 ", "1-", "0 1", "11 ", "4111 ", "+1", "+", "((", "@", "a@", "@a.", "a@a.a", ".@", "a.", "a", "_", "\u200d", "1\u200d", "1\u200d ", "١ ", "a@b.no", "91234567 ", "xn--", "a@xn--",
	} {
		text := strings.Repeat(piece, size/len(piece))
		once, _ := m.Text(text)
		if twice, n := m.Text(once); n != 0 || twice != once {
			t.Errorf("%q: %d pieces are left", piece, n)
		}
	}
	for _, text := range []string{strings.Repeat("a", size) + "@b.no", "a@" + strings.Repeat("b.", size/2) + "no", "+" + strings.Repeat("1", size), "1" + strings.Repeat("\u200d", size/3) + "1"} {
		once, _ := m.Text(text)
		if _, n := m.Text(once); n != 0 {
			t.Errorf("%.20q: %d pieces are left", text, n)
		}
	}
}
