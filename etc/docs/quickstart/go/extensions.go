// go run extensions.go: what go-beanstalk has no function for. It keeps its connection to itself, so this is one beside it.
package main

import (
	"fmt"
	"log"
	"net/textproto"
)

var queue *textproto.Conn

func ask(lines int, command, body string) {
	if _, err := queue.Cmd("%s\r\n%s", command, body); err != nil {
		log.Fatal(err)
	}
	for ; lines > 0; lines-- {
		answer, err := queue.ReadLine()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer)
	}
}

func put(body, options string) {
	ask(1, fmt.Sprintf("put 1024 0 60 %d %s", len(body), options), body)
}

func main() {
	var err error
	if queue, err = textproto.Dial("tcp", "127.0.0.1:11300"); err != nil {
		log.Fatal(err)
	}
	put("June", "tube:reports idp:june") // Unique by its key.
	put("June", "tube:reports idp:june") // So this one is not put, and the answer names the first.
	put("July", "tube:reports tries:5 backoff:10:600 dead:reports-dead")

	items := "1024 0 60 3\r\none\r\n1024 0 60 3\r\ntwo" // Two jobs in one step: all are put, or none.
	ask(3, fmt.Sprintf("put-batch 2 %d tube:reports", len(items)), items)
}
