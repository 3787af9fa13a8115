// Command cosign is sigstore's cosign without the key stores of clouds, which make its build three times as long.
package main

import (
	"log"
	"os"

	"github.com/sigstore/cosign/v3/cmd/cosign/cli"
)

func main() {
	log.SetFlags(0)
	if err := cli.New().Execute(); err != nil {
		log.Println("Error:", err)
		os.Exit(1)
	}
}
