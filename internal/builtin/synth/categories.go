package synth

import "strings"

// cocoCategories follows the official annotation files: 80 of 91 planned categories were
// kept, so that some ids are missing.
func cocoCategories() []Category {
	groups := []struct {
		super string
		first int64
		names string // ids count up from first; "-" is an id that is missing
	}{
		{"person", 1, "person"},
		{"vehicle", 2, "bicycle, car, motorcycle, airplane, bus, train, truck, boat"},
		{"outdoor", 10, "traffic light, fire hydrant, -, stop sign, parking meter, bench"},
		{"animal", 16, "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe"},
		{"accessory", 27, "backpack, umbrella, -, -, handbag, tie, suitcase"},
		{"sports", 34, "frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard, tennis racket"},
		{"kitchen", 44, "bottle, -, wine glass, cup, fork, knife, spoon, bowl"},
		{"food", 52, "banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake"},
		{"furniture", 62, "chair, couch, potted plant, bed, -, dining table, -, -, toilet"},
		{"electronic", 72, "tv, laptop, mouse, remote, keyboard, cell phone"},
		{"appliance", 78, "microwave, oven, toaster, sink, refrigerator"},
		{"indoor", 84, "book, clock, vase, scissors, teddy bear, hair drier, toothbrush"},
	}
	var categories []Category
	for _, g := range groups {
		for i, name := range strings.Split(g.names, ", ") {
			if name != "-" {
				categories = append(categories, Category{g.first + int64(i), name, g.super})
			}
		}
	}
	return categories
}

// openImagesCategories are the classes of OpenImages that MLPerf kept, in alphabetical
// order (mlcommons/inference, vision/classification_and_detection/tools/openimages_mlperf.sh).
func openImagesCategories() []Category {
	var categories []Category
	for line := range strings.Lines(openImagesNames) {
		for name := range strings.SplitSeq(strings.TrimSpace(line), ", ") {
			categories = append(categories, Category{ID: int64(len(categories)), Name: name})
		}
	}
	return categories
}

// openImagesNames in lines of ten.
const openImagesNames = `Airplane, Antelope, Apple, Backpack, Balloon, Banana, Barrel, Baseball bat, Baseball glove, Bee
Beer, Bench, Bicycle, Bicycle helmet, Bicycle wheel, Billboard, Book, Bookcase, Boot, Bottle
Bowl, Bowling equipment, Box, Boy, Brassiere, Bread, Broccoli, Bronze sculpture, Bull, Bus
Bust, Butterfly, Cabinetry, Cake, Camel, Camera, Candle, Candy, Cannon, Canoe
Carrot, Cart, Castle, Cat, Cattle, Cello, Chair, Cheese, Chest of drawers, Chicken
Christmas tree, Coat, Cocktail, Coffee, Coffee cup, Coffee table, Coin, Common sunflower, Computer keyboard, Computer monitor
Convenience store, Cookie, Countertop, Cowboy hat, Crab, Crocodile, Cucumber, Cupboard, Curtain, Deer
Desk, Dinosaur, Dog, Doll, Dolphin, Door, Dragonfly, Drawer, Dress, Drum
Duck, Eagle, Earrings, Egg (Food), Elephant, Falcon, Fedora, Flag, Flowerpot, Football
Football helmet, Fork, Fountain, French fries, French horn, Frog, Giraffe, Girl, Glasses, Goat
Goggles, Goldfish, Gondola, Goose, Grape, Grapefruit, Guitar, Hamburger, Handbag, Harbor seal
Headphones, Helicopter, High heels, Hiking equipment, Horse, House, Houseplant, Human arm, Human beard, Human body
Human ear, Human eye, Human face, Human foot, Human hair, Human hand, Human head, Human leg, Human mouth, Human nose
Ice cream, Jacket, Jeans, Jellyfish, Juice, Kitchen & dining room table, Kite, Lamp, Lantern, Laptop
Lavender (Plant), Lemon, Light bulb, Lighthouse, Lily, Lion, Lipstick, Lizard, Man, Maple
Microphone, Mirror, Mixing bowl, Mobile phone, Monkey, Motorcycle, Muffin, Mug, Mule, Mushroom
Musical keyboard, Necklace, Nightstand, Office building, Orange, Owl, Oyster, Paddle, Palm tree, Parachute
Parrot, Pen, Penguin, Personal flotation device, Piano, Picture frame, Pig, Pillow, Pizza, Plate
Platter, Porch, Poster, Pumpkin, Rabbit, Rifle, Roller skates, Rose, Salad, Sandal
Saucer, Saxophone, Scarf, Sea lion, Sea turtle, Sheep, Shelf, Shirt, Shorts, Shrimp
Sink, Skateboard, Ski, Skull, Skyscraper, Snake, Sock, Sofa bed, Sparrow, Spider
Spoon, Sports uniform, Squirrel, Stairs, Stool, Strawberry, Street light, Studio couch, Suit, Sun hat
Sunglasses, Surfboard, Sushi, Swan, Swimming pool, Swimwear, Tank, Tap, Taxi, Tea
Teddy bear, Television, Tent, Tie, Tiger, Tin can, Tire, Toilet, Tomato, Tortoise
Tower, Traffic light, Train, Tripod, Truck, Trumpet, Umbrella, Van, Vase, Vehicle registration plate
Violin, Wall clock, Waste container, Watch, Whale, Wheel, Wheelchair, Whiteboard, Window, Wine
Wine glass, Woman, Zebra, Zucchini`
