/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_CONGESTION_H
#define WIRE_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/wire/mad.h"

/*
 * MADs of the congestion control class, 0x21, and their attributes (IBA volume 1, annex A10.4).
 * A MAD of the class has its key where an SMP has the M_Key, then 32 bytes for logs, then 192 of
 * an attribute; the log alone begins in the former. Each attribute has a plain struct and a
 * decoder and encoder as those of attr.h: they cannot fail, any bytes decode to something, and
 * encode(decode(x)) equals x but for reserved bits, which become 0.
 */
#define CC_CLASS_VERSION 2
#define CC_KEY_AT 24		/* bytes into the MAD */
#define CC_LOG_AT 32
#define CC_DATA_AT 64
#define CC_DATA_SIZE (MAD_SIZE - CC_DATA_AT)
#define CC_LOG_SIZE (MAD_SIZE - CC_LOG_AT)

enum cc_attr {
	CC_CLASS_PORT_INFO = 0x0001,
	CC_NOTICE = 0x0002,
	CC_INFO = 0x0011,
	CC_KEY_INFO = 0x0012,
	CC_LOG = 0x0013,
	CC_SWITCH_SETTING = 0x0014,
	CC_SWITCH_PORT_SETTING = 0x0015,	/* modifier: block of CC_PORTS_BLOCK ports */
	CC_CA_SETTING = 0x0016,
	CC_TABLE = 0x0017,			/* modifier: block of CC_TABLE_BLOCK entries */
	CC_TIMESTAMP = 0x0018,
};

struct cc_class_info {
	uint8_t base_version;
	uint8_t class_version;
	uint16_t cap_mask;		/* CapabilityMask */
	uint32_t cap_mask2;		/* 27 bits */
	uint8_t resp_time;		/* RespTimeValue, 5 bits */
};

#define CC_INFO_STARVATION 1u	/* CongestionInfo: credit starvation is supported */

struct cc_info {
	uint16_t info;			/* bits CC_INFO_... */
	uint8_t table_cap;		/* blocks of CongestionControlTable */
};

struct cc_key_info {
	uint64_t key;			/* CC_Key; 0 in answers may mean that it is hidden */
	bool protect;			/* answers show it to those who have it only */
	uint16_t lease;			/* seconds; 0: for ever */
	uint16_t violations;		/* MADs with a wrong key */
};

/* A set of ports, 0 to 254. */
struct cc_ports {
	uint8_t bytes[32];		/* as on the wire: port 0 is the last byte's lowest bit */
};

static inline void
cc_ports_add(struct cc_ports *p, unsigned port)
{
	p->bytes[31 - port / 8] |= (uint8_t)(1u << port % 8);
}

static inline bool
cc_ports_has(const struct cc_ports *p, unsigned port)
{
	return p->bytes[31 - port / 8] >> port % 8 & 1;
}

/* A delay: the packet's own time, shifted right by `shift`, times `multiplier`. */
struct cc_delay {
	uint8_t shift;			/* 2 bits */
	uint16_t multiplier;		/* 14 bits */
};

/* Control_Map of SwitchCongestionSetting: which components count. */
enum cc_switch_map {
	CC_MAP_VICTIM = 1,
	CC_MAP_CREDIT = 2,
	CC_MAP_THRESHOLD = 4,		/* and Packet_Size */
	CC_MAP_STARVATION = 8,		/* CS_Threshold and CS_ReturnDelay */
	CC_MAP_MARKING = 16,
	CC_MAP_ALL = 31,
};

struct cc_switch_setting {
	uint32_t map;			/* bits of enum cc_switch_map */
	struct cc_ports victim;		/* ports that mark even as victims of congestion */
	struct cc_ports credit;		/* ports that mark for want of credits */
	uint8_t threshold;		/* 4 bits: 0 never marks, 15 soonest */
	uint8_t packet_size;		/* smaller packets are not marked, 64 bytes */
	uint8_t starvation;		/* CS_Threshold, 4 bits */
	struct cc_delay return_delay;	/* CS_ReturnDelay */
	uint16_t marking_rate;		/* mean number of packets between marks */
};

#define CC_PORTS_BLOCK 32		/* elements of SwitchPortCongestionSetting */

struct cc_port_setting {
	bool valid;			/* it counts instead of the switch's own */
	bool starvation;		/* of credit starvation, not of congestion */
	uint8_t threshold;		/* 4 bits */
	uint8_t packet_size;		/* of congestion only, and so is this: */
	uint16_t marking_rate;
};

#define CC_LEVELS 16
#define CC_PORT_BY_LEVEL 1u		/* Port_Control: control by SL, not by queue pair */

/* What a host does for one SL. */
struct cc_ca_entry {
	uint16_t timer;			/* CCTI_Timer, until a step is taken back, 1.024 us */
	uint8_t increase;		/* CCTI_Increase, steps for each mark */
	uint8_t trigger;		/* Trigger_Threshold: step at which an event is logged */
	uint8_t least;			/* CCTI_Min */
};

struct cc_ca_setting {
	uint16_t port_control;		/* bits CC_PORT_... */
	uint16_t map;			/* Control_Map: SLs whose entries count */
	struct cc_ca_entry entries[CC_LEVELS];
};

#define CC_TABLE_BLOCK 64		/* entries of CongestionControlTable */

struct cc_table {
	uint16_t limit;			/* CCTI_Limit: last index of the whole table */
	struct cc_delay entries[CC_TABLE_BLOCK];
};

enum cc_log_type {
	CC_LOG_SWITCH = 1,
	CC_LOG_CA = 2,
};

#define CC_LOG_SWITCH_EVENTS 15
#define CC_LOG_CA_EVENTS 13

struct cc_log_switch_event {
	uint16_t slid, dlid;		/* of the packet that was marked */
	uint8_t sl;			/* 4 bits */
	uint32_t time;			/* 1.024 us */
};

struct cc_log_ca_event {
	uint32_t local_qp;		/* 24 bits */
	uint8_t sl;			/* 4 bits */
	uint8_t service;		/* service type, 4 bits */
	uint32_t remote_qp;		/* 24 bits */
	uint16_t local_lid, remote_lid;
	uint32_t time;			/* 1.024 us */
};

/* CongestionLog; what is of one type is 0 in the other, and in unknown ones. */
struct cc_log {
	uint8_t type;			/* enum cc_log_type */
	uint8_t flags;
	uint16_t count;			/* events since it was sent last */
	uint16_t levels;		/* CA: SLs that reached their threshold */
	uint32_t time;			/* now, 1.024 us */
	struct cc_ports ports;		/* switch: ports that marked */
	struct cc_log_switch_event switches[CC_LOG_SWITCH_EVENTS];
	struct cc_log_ca_event cas[CC_LOG_CA_EVENTS];
};

void
cc_class_info_decode(struct cc_class_info *a, const uint8_t data[CC_DATA_SIZE]);
void
cc_class_info_encode(const struct cc_class_info *a, uint8_t data[CC_DATA_SIZE]);
void
cc_info_decode(struct cc_info *a, const uint8_t data[CC_DATA_SIZE]);
void
cc_info_encode(const struct cc_info *a, uint8_t data[CC_DATA_SIZE]);
void
cc_key_info_decode(struct cc_key_info *a, const uint8_t data[CC_DATA_SIZE]);
void
cc_key_info_encode(const struct cc_key_info *a, uint8_t data[CC_DATA_SIZE]);
void
cc_switch_setting_decode(struct cc_switch_setting *a, const uint8_t data[CC_DATA_SIZE]);
void
cc_switch_setting_encode(const struct cc_switch_setting *a, uint8_t data[CC_DATA_SIZE]);
void
cc_port_settings_decode(struct cc_port_setting a[CC_PORTS_BLOCK],
			const uint8_t data[CC_DATA_SIZE]);
void
cc_port_settings_encode(const struct cc_port_setting a[CC_PORTS_BLOCK],
			uint8_t data[CC_DATA_SIZE]);
void
cc_ca_setting_decode(struct cc_ca_setting *a, const uint8_t data[CC_DATA_SIZE]);
void
cc_ca_setting_encode(const struct cc_ca_setting *a, uint8_t data[CC_DATA_SIZE]);
void
cc_table_decode(struct cc_table *a, const uint8_t data[CC_DATA_SIZE]);
void
cc_table_encode(const struct cc_table *a, uint8_t data[CC_DATA_SIZE]);
/* Timestamp: a clock of 1.024 us. */
uint32_t
cc_timestamp_decode(const uint8_t data[CC_DATA_SIZE]);
void
cc_timestamp_encode(uint32_t time, uint8_t data[CC_DATA_SIZE]);
/* From and to the CC_LOG_SIZE bytes at CC_LOG_AT. */
void
cc_log_decode(struct cc_log *a, const uint8_t data[CC_LOG_SIZE]);
void
cc_log_encode(const struct cc_log *a, uint8_t data[CC_LOG_SIZE]);

/* A request, or an answer, around an attribute: MAD_SIZE bytes; what is for logs is 0. */
void
cc_mad_encode(const struct mad_header *h, uint64_t key, const uint8_t data[CC_DATA_SIZE],
	      uint8_t mad[MAD_SIZE]);
uint64_t
cc_mad_key(const uint8_t mad[MAD_SIZE]);

/* "SwitchCongestionSetting", as mad_attr_name(). */
const char *
cc_attr_name(uint16_t attr_id);

#endif
