package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInventory(t *testing.T) {
	root := files{
		"sys/class/dmi/id/sys_vendor":                          "Example Inc.",
		"sys/class/dmi/id/product_name":                        "Board 1",
		"sys/class/dmi/id/bios_vendor":                         "AMI",
		"sys/class/dmi/id/bios_version":                        "2.4",
		"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3700000",
		"sys/devices/system/cpu/cpu0/cache/index0/level":       "1",
		"sys/devices/system/cpu/cpu0/cache/index0/type":        "Data",
		"sys/devices/system/cpu/cpu0/cache/index0/size":        "48K",
		"sys/devices/system/cpu/cpu0/cache/index2/level":       "2",
		"sys/devices/system/cpu/cpu0/cache/index2/type":        "Unified",
		"sys/devices/system/cpu/cpu0/cache/index2/size":        "2048K",
		"sys/devices/system/cpu/cpu0/cache/index3/level":       "3", // without a size
		"sys/devices/system/cpu/cpu0/cache/index4/size":        "1K",
		"sys/devices/system/edac/mc/mc0/dimm0/dimm_edac_mode":  "Unknown",
		"sys/devices/system/edac/mc/mc1/rank1/dimm_edac_mode":  "S4ECD4ED",
		"sys/block/nvme0n1/size":                               "3907029168",
		"sys/block/sda/size":                                   "1000",
		"sys/block/sda/queue/rotational":                       "1",
		"sys/block/loop0/size":                                 "64",
		"sys/block/sr0/size":                                   "0",
		"sys/class/net/eth0/speed":                             "25000",
		"sys/class/net/eth0/device/uevent":                     "DRIVER=mlx5_core\nPCI_ID=15B3:101F",
		"sys/class/net/eth1/speed":                             "-1",
		"sys/class/net/eth0/type":                              "1",
		"sys/class/net/eth1/device/uevent":                     "",
		"sys/class/net/eth1/type":                              "32",
		"sys/class/net/wlan0/device/uevent":                    "",
		"sys/class/net/wlan0/wireless/x":                       "",
		"sys/class/net/wlan0/type":                             "1",
		"sys/class/net/lo/speed":                               "",
		"sys/bus/pci/devices/0000:3b:00.0/vendor":              "0x10de",
		"sys/bus/pci/devices/0000:3b:00.0/class":               "0x030200",
		"sys/bus/pci/devices/0000:3b:00.0/device":              "0x2330",
		"sys/bus/pci/devices/0000:3b:00.0/max_link_speed":      "32.0 GT/s PCIe",
		"sys/bus/pci/devices/0000:3b:00.0/max_link_width":      "16",
		"sys/bus/pci/devices/0000:5e:00.0/vendor":              "0x1002",
		"sys/bus/pci/devices/0000:5e:00.0/class":               "0x120000",
		"sys/bus/pci/devices/0000:5e:00.0/product_name":        "Instinct",
		"sys/bus/pci/devices/0000:5e:00.0/mem_info_vram_total": "68702699520",
		"proc/driver/nvidia/gpus/0000:3b:00.0/information":     "Model: \t NVIDIA H100 PCIe",
		"sys/bus/pci/devices/0000:5e:00.0/max_link_speed":      "Unknown",
		"sys/bus/pci/devices/0000:00:02.0/vendor":              "0x1234",
		"sys/bus/pci/devices/0000:00:02.0/class":               "0x030000",
	}.write(t)
	want := Inventory{
		Vendor: "Example Inc.", Product: "Board 1", Firmware: "AMI 2.4", MaxMHz: 3700, ECC: true, Caches: []string{"L1d 48K", "L2 2048K"},
		Drives: []Drive{{"nvme0n1", "NVMe SSD", 3907029168 * 512}, {"sda", "HDD", 512000}},
		NICs:   []NIC{{"eth0", "mlx5_core", 25000, "Ethernet", "15b3:101f"}, {"eth1", "", 0, "InfiniBand", ""}, {"wlan0", "", 0, "802.11", ""}},
		Accelerators: []Accelerator{
			{GPU{Name: "NVIDIA H100 PCIe", Vendor: "NVIDIA", PCI: "0000:3b:00.0"}, 81559 << 20, "Enabled", "PCIe Gen5 x16"},
			{GPU{Name: "Instinct", Vendor: "AMD", PCI: "0000:5e:00.0"}, 68702699520, "", ""},
		},
	}
	if diff := cmp.Diff(want, inventory(root, map[string]smi{"0000:3b:00.0": {81559 << 20, "Enabled"}})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPCIeLinks(t *testing.T) {
	for _, c := range []struct{ speed, width, want string }{
		{"2.5 GT/s PCIe", "1", "PCIe Gen1 x1"}, {"5.0 GT/s PCIe", "4", "PCIe Gen2 x4"}, {"8.0 GT/s PCIe", "8", "PCIe Gen3 x8"}, {"16 GT/s", "16", "PCIe Gen4 x16"},
		{"Unknown", "16", ""}, {"16.0 GT/s PCIe", "0", ""}, {"16.0 GT/s PCIe", "", ""},
	} {
		const card = "sys/bus/pci/devices/0000:3b:00.0/"
		root := files{card + "vendor": "0x10de", card + "class": "0x030200", card + "max_link_speed": c.speed, card + "max_link_width": c.width}.write(t)
		if got := inventory(root, nil).Accelerators[0].Link; got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.speed, c.width, got, c.want)
		}
	}
}

func TestDrivesHoldData(t *testing.T) {
	disks := files{}
	for _, name := range []string{"loop1", "ram0", "zram0", "dm-0", "md127", "sr0", "fd0", "vdb", "nvme0n1", "nvme0c0n1"} {
		disks["sys/block/"+name+"/size"] = "8"
	}
	disks["sys/block/sdz/size"] = "0" // an empty card reader
	disks["sys/block/sdy/size"] = "many"
	disks["sys/block/nvme0c0n1/hidden"] = "1" // one of several paths to a drive
	want := []Drive{{"nvme0n1", "NVMe SSD", 4096}, {"vdb", "virtual disk", 4096}}
	if diff := cmp.Diff(want, drives(disks.write(t))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseSMI(t *testing.T) {
	for text, want := range map[string]map[string]smi{
		"00000000:3B:00.0, 81559, Enabled":                                    {"0000:3b:00.0": {81559 << 20, "Enabled"}},
		"0001:3B:00.0, 2, Disabled\r\n00000001:aF:00.0, 3, [N/A]\n":           {"0001:3b:00.0": {2 << 20, "Disabled"}, "0001:af:00.0": {3 << 20, ""}},
		"00000000:3B:00.0, 99999999999, Enabled\n":                            {},
		"No devices were found\n00000000:3B:00.0, [N/A], [N/A]\n0, 81559\n\n": {},
	} {
		if diff := cmp.Diff(want, parseSMI(text), cmp.AllowUnexported(smi{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// An edge board has an eMMC with parts, a link without a cable, no PCI, and a kernel that shows little.
func TestInventoryOfAnEdgeBoard(t *testing.T) {
	root := files{
		"sys/block/mmcblk0/size":                               "61071360",
		"sys/block/mmcblk0/queue/rotational":                   "0",
		"sys/block/mmcblk0boot0/size":                          "8192",
		"sys/block/mmcblk0boot1/size":                          "8192",
		"sys/block/mmcblk0rpmb/size":                           "8192",
		"sys/block/mmcblk0gp0/size":                            "8192",
		"sys/block/mmcblk1/size":                               "124735488",
		"sys/block/zram0/size":                                 "4000000",
		"sys/block/nbd0/size":                                  "0",
		"sys/class/net/eth0/speed":                             "-1",
		"sys/class/net/eth0/type":                              "1",
		"sys/class/net/eth0/device/uevent":                     "DRIVER=st_gmac\nOF_NAME=ethernet",
		"sys/class/net/docker0/speed":                          "10000", // which stands for no device
		"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "1800000",
		"sys/devices/system/cpu/cpu0/cache/index0/type":        "Data",
		"sys/bus/pci/devices/0000:01:00.0/vendor":              "0x10ec",
		"sys/bus/pci/devices/0000:01:00.0/class":               "0x020000",
	}.write(t)
	want := Inventory{
		MaxMHz: 1800,
		Drives: []Drive{{"mmcblk0", "eMMC or SD card", 61071360 * 512}, {"mmcblk1", "eMMC or SD card", 124735488 * 512}},
		NICs:   []NIC{{Name: "eth0", Driver: "st_gmac", Kind: "Ethernet"}},
	}
	if diff := cmp.Diff(want, inventory(root, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Firmware, drivers and the kernel's names are texts of others: they enter descriptions as printable lines.
func TestInventoryForgesNoLines(t *testing.T) {
	root := files{
		"sys/class/dmi/id/product_name":    "board\nmobilenet Server: VALID\x1b[2J\u202e",
		"sys/class/net/eth0/device/uevent": "DRIVER=\x1b]0;title\x07",
		"sys/class/net/eth0/type":          "1",
	}.write(t)
	got := inventory(root, nil)
	if got.Product != `board\x0amobilenet Server: VALID\x1b[2J\u202e` || len(got.NICs) != 1 || got.NICs[0].Driver != `\x1b]0;title\x07` {
		t.Errorf("%+q, %+v", got.Product, got.NICs)
	}
}
