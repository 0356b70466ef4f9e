package mask_test

import (
	"fmt"

	"engang/shared/mask"
)

func Example() {
	m := mask.New(mask.Email, mask.Phone)
	text, n := m.Text("Ring 912 34 567 eller skriv til ola@example.com.")
	fmt.Println(n, text)
	// Output: 2 Ring [phone] eller skriv til [email].
}
